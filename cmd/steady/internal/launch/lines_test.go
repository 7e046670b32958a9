package launch

import (
	"bufio"
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func scanAll(data []byte, limit int) (lines []Line) {
	scan := lineScanner{r: bufio.NewReaderSize(bytes.NewReader(data), 16), limit: limit}
	for {
		line, ok := scan.next()
		if !ok {
			return lines
		}
		lines = append(lines, line)
	}
}

func TestLineScanner(t *testing.T) {
	long := strings.Repeat("x", 100)
	lines := scanAll([]byte("one\r\n\n"+long+"\ntwo\nrest"), 40)
	require.Equal(t, []Line{
		{Text: []byte("one")},
		{},
		{Text: []byte(long[:40]), Cut: true},
		{Text: []byte("two")},
		{Text: []byte("rest"), Partial: true},
	}, lines)
}

func FuzzLineScanner(f *testing.F) {
	f.Add([]byte("a\nb\r\n\nc"), 3)
	f.Fuzz(func(t *testing.T, data []byte, limit int) {
		limit = limit&0xff + 1
		lines := scanAll(data, limit)
		want := bytes.Split(data, []byte("\n"))
		if len(want[len(want)-1]) == 0 {
			want = want[:len(want)-1]
		}
		require.Len(t, lines, len(want))
		for i, l := range lines {
			require.LessOrEqual(t, len(l.Text), limit)
			require.True(t, bytes.HasPrefix(want[i], l.Text))
		}
	})
}

func TestReadEvents(t *testing.T) {
	var got []string
	stream := ": comment\nevent: message\ndata: {\"a\":\ndata: 1}\n\nid: 4\n\ndata:{\"b\":2}\n\ndata: end"
	require.NoError(t, readEvents(strings.NewReader(stream), 1000, func(data []byte, _ bool) { got = append(got, string(data)) }))
	require.Equal(t, []string{"{\"a\":\n1}", `{"b":2}`, "end"}, got)
}

func FuzzReadEvents(f *testing.F) {
	f.Add([]byte("data: x\n\ndata: y\ndata: z\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		_ = readEvents(bytes.NewReader(data), 64, func(event []byte, _ bool) {
			require.LessOrEqual(t, len(event), 64+len(data))
		})
	})
}

func TestSecrets(t *testing.T) {
	target := &Target{
		Command: []string{"server", "--api-key", "hunter22", "--token=tok-1234", "--verbose", "on", "--port", "8080"},
		Env:     []string{"WEATHER=sunny-key", "X=ab"},
		Header:  map[string][]string{"Authorization": {"Bearer abcdefgh"}},
	}
	masked := target.Secrets().Mask("hunter22 tok-1234 sunny-key abcdefgh ab 8080 on")
	require.Equal(t, "*** *** *** *** ab 8080 on", masked)
	require.Equal(t, "server --api-key *** --token=*** --verbose on --port 8080", target.String())
	require.Equal(t, "https://example.com/mcp?api_key=***&q=1", (&Target{URL: "https://example.com/mcp?api_key=abcdef&q=1"}).String())
}
