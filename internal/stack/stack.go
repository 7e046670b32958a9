// Package stack makes room on the stack of a goroutine.
package stack

// Roomy makes the stack of a new goroutine large enough for most handlers, in
// one step and while there is nothing on it. It would otherwise be doubled, and
// all that is on it copied, two or three times on the way into the handler, which
// costs more than most of what is done on the way.
//
//go:noinline
func Roomy() byte {
	var room [9 << 10]byte
	return room[len(grown)&1]
}

// grown keeps the compiler from working out what Roomy returns.
var grown string
