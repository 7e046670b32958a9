package fleet

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A child that does not read is no reason for anybody to wait.
func TestOutbox(t *testing.T) {
	t.Parallel()
	o := newOutbox(1000)
	large := strings.Repeat("x", 2000)
	require.True(t, o.push([]byte(large)), "one message may have any size")
	require.False(t, o.push([]byte("a")))
	p := make([]byte, 1500)
	n, err := o.Read(p)
	require.NoError(t, err)
	require.Equal(t, 1500, n)
	for range 5 {
		require.True(t, o.push([]byte("aaaa")))
	}
	o.finish()
	require.False(t, o.push([]byte("b")))
	rest, err := io.ReadAll(o)
	require.NoError(t, err)
	require.Equal(t, large[1500:]+"\n"+strings.Repeat("aaaa\n", 5), string(rest))
	require.Zero(t, o.size)

	o = newOutbox(1000)
	require.True(t, o.push([]byte("a")))
	require.NoError(t, o.Close())
	_, err = o.Read(p)
	require.ErrorIs(t, err, io.EOF)
}

func TestPrefixed(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	p := &prefixed{name: "a", w: &out}
	for _, text := range []string{"one\ntw", "o\n\n", strings.Repeat("x", maxPrinted+1), "\nlast"} {
		n, err := p.Write([]byte(text))
		require.NoError(t, err)
		require.Len(t, text, n)
	}
	p.end()
	p.end()
	require.Equal(t, "a: one\na: two\na: \na: "+strings.Repeat("x", maxPrinted)+"\na: x\na: last\n", out.String())
}
