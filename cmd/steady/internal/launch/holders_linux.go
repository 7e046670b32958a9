package launch

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// pipeOf returns what /proc calls the pipe behind f.
func pipeOf(f *os.File) string {
	// Reading the link does not need f's descriptor number, which File.Fd
	// would give at the price of making f blocking.
	conn, err := f.SyscallConn()
	if err != nil {
		return ""
	}
	var name string
	_ = conn.Control(func(fd uintptr) {
		name, _ = os.Readlink("/proc/self/fd/" + strconv.Itoa(int(fd)))
	})
	return name
}

// maxDescendants bounds how many processes are looked at.
const maxDescendants = 256

// Holders returns those of our server's processes, itself and its descendants,
// that have one of its pipes in the same place. It works on Linux only.
func (p *Process) Holders() []Holder {
	if p.pipe.Stdin == "" {
		return nil
	}
	var out []Holder
	queue := []Holder{{PID: p.PID()}}
	for i := 0; i < len(queue) && i < maxDescendants; i++ {
		h := queue[i]
		dir := "/proc/" + strconv.Itoa(h.PID)
		for _, child := range children(dir) {
			queue = append(queue, Holder{PID: child, Parent: h.PID})
		}
		in, _ := os.Readlink(dir + "/fd/0")
		to, _ := os.Readlink(dir + "/fd/1")
		if h.Stdin, h.Stdout = in == p.pipe.Stdin, to == p.pipe.Stdout; !h.Stdin && !h.Stdout {
			continue
		}
		name, _ := os.ReadFile(dir + "/comm")
		h.Name = string(bytes.TrimSpace(name))
		mine, err := os.ReadFile(dir + "/cmdline")
		parents, _ := os.ReadFile("/proc/" + strconv.Itoa(h.Parent) + "/cmdline")
		h.Own = err == nil && !bytes.Equal(mine, parents)
		out = append(out, h)
	}
	return out
}

// children returns the children of a process, whichever of its threads started
// them.
func children(dir string) (out []int) {
	lists, _ := filepath.Glob(dir + "/task/*/children")
	for _, list := range lists {
		data, _ := os.ReadFile(list)
		for field := range strings.FieldsSeq(string(data)) {
			if pid, err := strconv.Atoi(field); err == nil {
				out = append(out, pid)
			}
		}
	}
	return out
}
