// Package stdioguard keeps an MCP server's stdio session alive: whatever the
// process prints, whatever the client sends, and however the session ends.
//
//	err := stdioguard.Run(ctx, server)
//
// replaces
//
//	err := server.Run(ctx, &mcp.StdioTransport{})
//
// # What it does
//
// The protocol owns standard output. [Guard] takes the real standard input and
// output for the transport, points descriptor 1 at standard error and
// descriptor 0 at the null device, so that neither a stray Println nor a C
// library nor a child process can write into the protocol or read from it.
// Diverted text never blocks whoever wrote it. See [Guard].
//
// A line that is no good costs that line. It is answered with a JSON-RPC error
// under its own id wherever the id can be recovered, and the session goes on.
// See [Transport].
//
// A reply is written before the process ends. At the end of input, at SIGTERM,
// at SIGINT and when the context is cancelled, requests in flight get a bounded
// time to be answered, then they are cancelled with a cause, then they are
// left behind: a handler that ignores its context does not keep the process
// alive. See [Transport.Serve].
//
// # What it cannot do
//
// It cannot take back what was written before Guard was called, nor divert a
// child that was started before. Guard belongs first in main; package
// initialisation runs before main, in the order of the language specification,
// so a package that prints while it is initialised is too early for any guard,
// and is reported ([Late]).
//
// It cannot save text that is still in its pipe when the process ends by
// os.Exit, log.Fatal or a panic. That is why it uses no pipe where standard
// error is a file or a terminal: see [Diversion].
//
// On Windows a library that captured the raw handle, or the C runtime's
// descriptor 1, before Guard was called, still has it. On all systems, a
// *os.File made by os.NewFile(1, ...) closes descriptor 1 when it is collected;
// the protocol survives that, but the next file that the process opens becomes
// descriptor 1 and receives what is printed.
//
// # Platforms
//
// Linux, macOS, the BSDs, Solaris and Windows. Only Linux is run by the tests;
// the others are built and vetted. Elsewhere Guard returns an error that wraps
// [errors.ErrUnsupported], and [NewTransport] works.
package stdioguard
