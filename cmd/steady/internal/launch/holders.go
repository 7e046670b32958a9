package launch

// A Holder is a process that has the server's standard input or output: the
// server, a launcher before it, or what it has started.
type Holder struct {
	PID, Parent   int
	Name          string
	Stdin, Stdout bool // which it has
	// Own says that it runs another program than its parent, or with other
	// arguments: it is past the moment between fork and exec, in which every
	// child has everything.
	Own bool
}

// pipes identify the pipes that a process has as standard input and output. They
// are empty where that is not known.
type pipes struct{ Stdin, Stdout string }
