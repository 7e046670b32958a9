// Package peers tests the servers of examples with clients that are not ours
// and not the Go SDK's, as built programs over stdio and HTTP. It is a module of
// its own, so that what it requires reaches nobody's build.
//
// The tests say what a client must be able to do (the file of each server),
// once for all clients; a file for each client says how that client does it.
package peers
