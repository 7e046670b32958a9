package limits

// roomy makes the stack of a new goroutine large enough for most handlers, in
// one step and while there is nothing on it. It would otherwise be doubled, and
// all that is on it copied, two or three times on the way into the handler, which
// costs more than everything else that a limiter does.
//
//go:noinline
func roomy() byte {
	var room [9 << 10]byte
	return room[len(grown)&1]
}

// grown keeps the compiler from working out what roomy returns.
var grown string
