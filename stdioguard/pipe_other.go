//go:build !unix

package stdioguard

import (
	"os"
	"sync"
)

// readPipe waits until f can be read, reads it and calls put with mu held.
func readPipe(f *os.File, mu sync.Locker, buf []byte, put func([]byte)) error {
	n, err := f.Read(buf)
	if n > 0 {
		mu.Lock()
		put(buf[:n])
		mu.Unlock()
	}
	return err
}

// pipeEmpty reports whether there is certainly nothing to read from f now.
func pipeEmpty(*os.File) bool { return false }
