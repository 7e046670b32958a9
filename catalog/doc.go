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
package catalog
