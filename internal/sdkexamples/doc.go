// Package sdkexamples holds the proof that the stack can be put on a server that
// somebody else wrote: its test takes the example servers that come with the
// SDK, from the module cache, wraps each with the lines that the documentation
// shows, and compares what both answer.
package sdkexamples
