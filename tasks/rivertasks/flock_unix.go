//go:build unix

package rivertasks

import (
	"context"
	"os"
	"strings"
	"syscall"
)

// fileLock is a lock on a file beside the database: the kernel frees it when the
// process is gone.
type fileLock struct{ file *os.File }

func (d *sqliteDB) lockPath(worker string) string { return d.path + ".live." + worker }

func (d *sqliteDB) hold(_ context.Context, worker string) lock {
	if strings.ContainsAny(worker, `/\`) {
		return nil
	}
	f, err := os.OpenFile(d.lockPath(worker), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil
	}
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		_ = f.Close()
		return nil
	}
	return fileLock{f}
}

func (fileLock) held() bool { return true }

func (l fileLock) release() {
	_ = os.Remove(l.file.Name())
	_ = l.file.Close()
}

// holders counts a worker whose file cannot be looked at as one that holds its
// lock.
func (d *sqliteDB) holders(_ context.Context, workers []string) (map[string]bool, error) {
	held := map[string]bool{}
	for _, w := range workers {
		held[w] = true
		f, err := os.OpenFile(d.lockPath(w), os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			held[w] = false
			_ = os.Remove(f.Name())
		}
		_ = f.Close()
	}
	return held, nil
}
