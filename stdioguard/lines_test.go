package stdioguard

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// inPieces reads at most n bytes at a time.
type inPieces struct {
	r io.Reader
	n int
}

func (p inPieces) Read(b []byte) (int, error) { return p.r.Read(b[:min(p.n, len(b))]) }

// checkLines compares a lineReader with splitting the whole stream at once.
func checkLines(t *testing.T, stream []byte, piece, limit int) {
	want := bytes.Split(bytes.TrimPrefix(stream, byteOrderMark), []byte{'\n'})
	if last := len(want) - 1; len(want[last]) == 0 {
		want = want[:last] // nothing behind the last line feed
	}
	l := lineReader{r: inPieces{bytes.NewReader(stream), piece}, limit: limit}
	for i, text := range want {
		ln, err := l.next()
		require.NoError(t, err)
		if limit >= 0 && len(text) > limit {
			require.True(t, ln.tooLong)
			require.EqualValues(t, len(text), ln.size)
			require.Equal(t, sniff(text, len(text)+1).found(), ln.sniffed.found())
			continue
		}
		require.False(t, ln.tooLong)
		require.True(t, bytes.Equal(text, ln.text), "line %d: %q", i, ln.text)
	}
	_, err := l.next()
	require.Equal(t, io.EOF, err)
}

var streamSeeds = []string{
	"", "\n", "a", "a\n", "a\nb", "a\n\nb\n", "\ufeffa\n", "\ufeff", "\ufeff\n", "a\n\ufeffb\n", "\ufeff\ufeffa\n", "a\r\nb\r\n",
	`{"id":1,"x":"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"}` + "\n" + `{"id":2}` + "\n", `{"x":"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy","id":"last"}`,
}

func TestLines(t *testing.T) {
	long := strings.Repeat("x", 300_000)
	for _, s := range append(streamSeeds, long+"\n"+long+"\nshort\n", "short\n"+long+"\n"+long) {
		for _, piece := range []int{1, 7, 5000, 1 << 20} {
			if piece == 1 && len(s) > 1000 {
				continue
			}
			for _, limit := range []int{NoLimit, 0, 1, 20, 200_000, 300_000} {
				checkLines(t, []byte(s), piece, limit)
			}
		}
	}
}

func FuzzLines(f *testing.F) {
	for _, s := range streamSeeds {
		f.Add([]byte(s), uint16(3), uint16(20))
	}
	f.Fuzz(func(t *testing.T, b []byte, piece, limit uint16) { checkLines(t, b, 1+int(piece), int(limit)) })
}

// A long line is not kept for ever, and one that is too long not at all.
func TestLinesForgetLongOnes(t *testing.T) {
	long := strings.Repeat("x", 3*keptBuffer)
	l := lineReader{r: inPieces{strings.NewReader(long + "\n" + strings.Repeat("short\n", 30_000)), readSize}, limit: NoLimit}
	for range 30_001 {
		_, err := l.next()
		require.NoError(t, err)
	}
	require.LessOrEqual(t, cap(l.buf), keptBuffer)

	l = lineReader{r: strings.NewReader(long), limit: 1 << 10}
	_, err := l.next()
	require.NoError(t, err)
	require.LessOrEqual(t, cap(l.buf), 4*readSize)
}

func TestLinesPassErrorsOn(t *testing.T) {
	broken := errors.New("broken")
	l := lineReader{r: io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)), limit: NoLimit}
	for _, want := range []string{"a", "b"} {
		ln, err := l.next()
		require.NoError(t, err)
		require.Equal(t, want, string(ln.text))
	}
	_, err := l.next()
	require.Equal(t, broken, err)
}
