// Package replicas tests several processes on one database: what a client that
// talks to all of them sees, and what happens when they are killed, stopped,
// upgraded, or cut off.
//
// The processes are this test's own program, started again. Each serves the same
// tools over HTTP, and the tests are their client.
package replicas
