// Package catalog puts a machine-readable directory of operations behind a few
// tools: find, describe, browse, call. Fifty endpoints then cost a model three
// definitions instead of fifty, a new endpoint is an entry and not a release,
// and "we do not have that data" is said only when a search found nothing.
//
// # Search
//
// An [Index] ranks entries by the words of a question: BM25F over weighted
// fields, English stems, related words from a [Vocabulary], misspellings only
// for words that match nothing else. It is deterministic, needs no model and
// no service, and every [Hit] explains itself. Below one confidence nothing is
// returned, below a second the hits are marked weak, and the words that
// matched nothing are listed either way.
//
// # Catalog
//
// A [Catalog] takes its entries from a [Source] ([JSON], [Fetch], [Tools], or
// package openapi), keeps them current, and gives a server its tools:
//
//	c, err := catalog.New(source, &catalog.Options{Caller: upstream})
//	...
//	_, err = steady.Wrap(server, nil)
//	...
//	err = c.Install(ctx, server) // last
//
// Every call is checked against the entry's schema and answered as
// {"data": ..., "rate_limit": ...}; failures say what to do next.
//
// # Where a credential may go
//
// An [Upstream] builds every URL with one [Guard] and sends every request from
// one function, whatever a model writes into a path or a parameter. The rules
// are in docs/catalog.md.
package catalog
