package errors_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/errors"
)

func TestRedact(t *testing.T) {
	t.Parallel()
	const mark = "[stack trace left out]"
	for name, tt := range map[string]struct{ text, want string }{
		"nothing":    {"no such order: 7", "no such order: 7"},
		"lines":      {"three lines\n  at most\nmeet me\n  at 10:30", "three lines\n  at most\nmeet me\n  at 10:30"},
		"credential": {"cannot connect to postgres://app:hunter2@db/x", "cannot connect to postgres://***@db/x"},
		"javascript": {
			"Error: boom\n    at read (/srv/app/dist/index.js:10:7)\n    at async Promise.all (index 0)\n    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)",
			"Error: boom\n" + mark,
		},
		"javascript in one line": {`{"stack":"Error: boom\n    at read (/srv/app/index.js:10:7)\n    at x (/srv/y.js:1:1)"}`, `{"stack":"Error: boom ` + mark + `"}`},
		"python": {
			"failed\nTraceback (most recent call last):\n  File \"/srv/app.py\", line 3, in main\n    run(secret)\n    ~~~^^^^^^^^\n  File \"/srv/run.py\", line 9, in run\n    raise ValueError(\"no\")\nValueError: no",
			"failed\n" + mark + "\nValueError: no",
		},
		"java": {
			"java.lang.IllegalStateException: no\n\tat com.example.App.run(App.java:12)\n\tat com.example.App.main(App.java:3)\nCaused by: java.io.IOException: gone\n\t... 2 more",
			"java.lang.IllegalStateException: no\n" + mark + "\nCaused by: java.io.IOException: gone\n" + mark,
		},
		"go": {
			"panic: boom\n\ngoroutine 1 [running]:\nmain.run(0x1)\n\t/srv/main.go:7 +0x1d\nmain.main()\n\t/srv/main.go:3 +0xf\nexit status 2",
			"panic: boom\n\n" + mark + "\nexit status 2",
		},
		"ruby":   {"boom (RuntimeError)\n\tfrom /srv/app.rb:3:in `run'\n\tfrom /srv/app.rb:9:in `<main>'", "boom (RuntimeError)\n" + mark},
		"php":    {"Exception: boom\nStack trace:\n#0 /srv/a.php(3): run()\n#1 {main}\n", "Exception: boom\n" + mark + "\n"},
		"dotnet": {"System.Exception: boom\r\n   at App.Run(String x) in C:\\src\\App.cs:line 12\r\nend", "System.Exception: boom\r\n" + mark + "\nend"},
		"rust":   {"boom\nstack backtrace:\n   0: app::run\n             at ./src/main.rs:7:5\n   1: core::ops::call_once\n", "boom\n" + mark + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, errors.Redact(tt.text))
			require.Equal(t, tt.want, errors.Redact(errors.Redact(tt.text)))
		})
	}
}

func FuzzRedact(f *testing.F) {
	f.Add("Error\n    at x (/y.js:1:1)\n")
	f.Add("Traceback (most recent call last):\n  File \"x\", line 3\n")
	f.Fuzz(func(t *testing.T, text string) {
		require.LessOrEqual(t, strings.Count(errors.Redact(text), "\n"), strings.Count(text, "\n"))
	})
}
