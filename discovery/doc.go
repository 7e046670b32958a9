// Package discovery finds out what a caller means who did not read the list of
// tools: a wrong name or a wrong argument reaches the right tool where that is
// certain, and otherwise comes back with the way out.
//
// [New] makes a [Resolver], and [Resolver.Middleware] installs it:
//
//	server.AddReceivingMiddleware(discovery.New(nil).Middleware())
//
// # Names
//
// A requested name walks through steps and stops at the first that leads to
// one tool among those that the caller may see: the very name; without blanks,
// quotes, invisible characters and a model's control tokens; without the
// namespaces that clients and the server put before it; without regard to case
// and separators; as a declared alias. These lose nothing, and may run any
// tool. What follows compares word by word (one and many, abbreviations, word
// order, typing errors, verbs of one family, near synonyms, words left out or
// added) and runs a tool only if it is annotated read-only or opted in, if one
// candidate stands alone, and if every differing word is understood. Verbs of
// different effect never stand for each other.
//
// [Resolve] is the same as a plain function.
//
// # Arguments
//
// Arguments are validated against the tool's schema. If they fit, not one byte
// of them changes. If not, what fails is mended where nothing is lost by it and
// nothing is guessed, and the mended object must fit; otherwise the call is
// answered with what is wrong, where, and a corrected call to copy. [Repair] is
// the same as a plain function, and [Handler] and [HandlerFor] wrap one handler.
//
// # What is said
//
// Every rewrite stands in the result's _meta under "steady/discovery", one that
// could matter also in its text; and each is an event for the
// [observe.Observer]. [Resolver.Stats] counts them.
package discovery
