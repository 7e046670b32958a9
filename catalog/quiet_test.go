package catalog

import (
	"log/slog"
	"os"
	"testing"

	"github.com/steadymcp/steady/observe"
)

var (
	quiet = observe.Discard
	long  = os.Getenv("STEADY_LONG") == "1"
)

func TestMain(m *testing.M) {
	// What the tests provoke is not worth a log.
	slog.SetDefault(slog.New(slog.DiscardHandler))
	os.Exit(m.Run())
}
