//go:build unix

package stdioguard_test

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"os/exec"
	"syscall"
	"text/template"
	"time"

	"github.com/steadymcp/steady/stdioguard"
)

// What a program may have captured before the guard is installed.
var captured struct {
	out    *os.File
	logger *log.Logger
	slog   *slog.Logger
	buf    *bufio.Writer
}

func captureWriters() {
	captured.out = os.Stdout
	captured.logger = log.New(os.Stdout, "", 0)
	captured.slog = slog.New(slog.NewTextHandler(os.Stdout, nil))
	captured.buf = bufio.NewWriter(os.Stdout)
}

// keep holds files that must not be collected: their finalizer would close
// descriptor 1.
var keep []*os.File

// ways are ways to write the line "stray <name>" to standard output.
var ways = map[string]func(line string) error{
	"fmt":       func(line string) error { _, err := fmt.Println(line); return err },
	"os.Stdout": func(line string) error { _, err := os.Stdout.WriteString(line + "\n"); return err },
	"log":       func(line string) error { l := log.New(os.Stdout, "", 0); l.Print(line); return nil },
	"slog":      func(line string) error { slog.New(slog.NewJSONHandler(os.Stdout, nil)).Info(line); return nil },
	"template": func(line string) error {
		return template.Must(template.New("").Parse(line+"\n")).Execute(os.Stdout, nil)
	},
	"captured file": func(line string) error { _, err := captured.out.WriteString(line + "\n"); return err },
	"captured log":  func(line string) error { captured.logger.Print(line); return nil },
	"captured slog": func(line string) error { captured.slog.Info(line); return nil },
	"captured bufio": func(line string) error {
		if _, err := captured.buf.WriteString(line + "\n"); err != nil {
			return err
		}
		return captured.buf.Flush()
	},
	"syscall": func(line string) error { _, err := syscall.Write(1, []byte(line+"\n")); return err }, // B101
	"os.NewFile": func(line string) error {
		f := os.NewFile(1, "one")
		keep = append(keep, f)
		_, err := f.WriteString(line + "\n")
		return err
	},
	"dev": func(line string) error {
		f, err := os.OpenFile("/dev/stdout", os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.WriteString(line + "\n")
		return err
	},
	"proc": func(line string) error {
		f, err := os.OpenFile("/proc/self/fd/1", os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.WriteString(line + "\n")
		return err
	},
	// As os.WriteFile("/dev/stdout", ...) and the shell's > /dev/stdout.
	"reopened, truncated": func(line string) error {
		return os.WriteFile("/dev/stdout", []byte(line+"\n"), 0o600)
	},
	"reopened, overwritten": func(line string) error {
		f, err := os.OpenFile("/dev/stdout", os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.WriteString(line + "\n")
		return err
	},
	"child": func(line string) error {
		cmd := exec.Command("echo", line)
		cmd.Stdout = os.Stdout
		return cmd.Run()
	},
	"child of a captured file": func(line string) error {
		cmd := exec.Command("echo", line)
		cmd.Stdout = captured.out
		return cmd.Run()
	},
	"fork and exec": func(line string) error {
		pid, err := syscall.ForkExec("/bin/echo", []string{"echo", line}, &syscall.ProcAttr{Files: []uintptr{0, 1, 2}})
		if err != nil {
			return err
		}
		_, err = syscall.Wait4(pid, nil, 0, nil)
		return err
	},
	"grandchild": func(line string) error {
		cmd := exec.Command("sh", "-c", `sh -c 'echo "$0"' "$0"`, line)
		cmd.Stdout = os.Stdout
		return cmd.Run()
	},
	"orphan": func(line string) error {
		cmd := exec.Command("sh", "-c", `(sleep 0.1; echo "$0") &`, line)
		cmd.Stdout = os.Stdout
		gone, inherited, err := os.Pipe()
		if err != nil {
			return err
		}
		defer gone.Close()
		cmd.ExtraFiles = []*os.File{inherited}
		err = cmd.Run()
		_ = inherited.Close()
		_, _ = io.ReadAll(gone) // until the orphan has ended
		return err
	},
	"other descriptors": func(line string) error {
		// The private descriptors are not inherited; only the first echo works.
		cmd := exec.Command("sh", "-c", `echo "$0"; for fd in 3 4 5 6 7 8 9; do echo "$0" 2>/dev/null >&$fd; done; exit 0`, line)
		cmd.Stdout = os.Stdout
		cmd.Stderr = nil
		return cmd.Run()
	},
	// B090, B091, B093, B095, B098: banners and tables, half lines, bytes that
	// are not ASCII, other people's JSON.
	"banner": func(line string) error {
		_, err := fmt.Print("[dotenv@17.2.1] injecting env (0) from .env -- tip: \n◇ injected\n┌───── / [09/15/25 00:30:17] INFO\n" + line + "\n")
		return err
	},
	"JSON": func(line string) error {
		_, err := fmt.Print("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n" + line + "\n")
		return err
	},
	"half a line": func(line string) error { _, err := fmt.Print(line); return err },
}

// odd are further ways, each for one test.
var odd = map[string]func(line string) error{
	"stderr": func(line string) error { _, err := fmt.Fprintln(os.Stderr, line); return err },
	// B103: a child that inherits standard input must not take the protocol's.
	"child reads": func(string) error {
		cmd := exec.Command("cat")
		cmd.Stdin = os.Stdin
		return cmd.Run()
	},
	"server reads": func(string) error {
		if n, err := os.Stdin.Read(make([]byte, 100)); n != 0 || err != io.EOF {
			return fmt.Errorf("standard input has %d bytes: %v", n, err)
		}
		return nil
	},
	"long orphan": func(line string) error {
		cmd := exec.Command("sh", "-c", "sleep 60 &")
		cmd.Stdout = os.Stdout
		return cmd.Run()
	},
	"print for ever": func(line string) error {
		for {
			fmt.Println(line)
			fmt.Fprintln(os.Stderr, line)
			time.Sleep(time.Millisecond)
		}
	},
}

// write writes in one of the ways.
func write(way string) error {
	w := ways[way]
	if w == nil {
		w = odd[way]
	}
	if w == nil {
		return fmt.Errorf("no way %q", way)
	}
	return w("stray " + way)
}

// instead does something else than serve a session.
func instead(what string, guard *stdioguard.Transport) {
	switch what {
	case "exit":
		fmt.Println("last words")
		os.Exit(7)
	case "panic":
		fmt.Println("last words")
		panic("boom")
	case "flood":
		// 8 MB; the client reads neither stream.
		line := fmt.Sprintf("%079d", 0)
		for range 100_000 {
			fmt.Println(line)
		}
		_ = os.NewFile(3, "three").Close()
	case "claim twice":
		opts := &stdioguard.Options{Settle: 10 * hang}
		_, err := stdioguard.Guard(nil)
		fmt.Println("second:", err)
		if err := guard.Close(); err != nil {
			fmt.Println("close:", err)
		}
		fmt.Println("printed to the real stdout")
		again, err := stdioguard.Guard(opts)
		fmt.Println("third:", err)
		_ = again.Close()
		var line string
		_, err = fmt.Scanln(&line)
		fmt.Println("read from the real stdin:", line, err)
		os.Exit(0)
	}
}
