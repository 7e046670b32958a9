package pagination

import (
	"context"
	"encoding/base64"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/observe"
)

func secret(b byte) []byte { return []byte(strings.Repeat(string(rune('a'+b)), 32)) }

func newKeys(t require.TestingT, current []byte, older ...[]byte) *Keys {
	k, err := NewKeys(current, older...)
	require.NoError(t, err)
	return k
}

func TestNewKeys(t *testing.T) {
	t.Parallel()
	for _, bad := range [][][]byte{{nil}, {[]byte("short")}, {secret(0), []byte("short")}} {
		_, err := NewKeys(bad[0], bad[1:]...)
		require.ErrorContains(t, err, "16 are the least")
	}
}

func TestContentRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		c := content{
			issued:   time.Unix(rapid.Int64Range(0, 1<<40).Draw(rt, "issued"), 0),
			tool:     digestOf(rapid.String().Draw(rt, "tool")),
			caller:   digestOf(rapid.String().Draw(rt, "caller")),
			limit:    rapid.IntRange(0, 1<<31-1).Draw(rt, "limit"),
			digested: rapid.Bool().Draw(rt, "digested"),
			query:    rapid.String().Draw(rt, "query"),
			position: rapid.String().Draw(rt, "position"),
		}
		got, ok := decodeContent(c.encode())
		require.True(rt, ok)
		require.Equal(rt, c, got)
	})
}

// TestOneBit: no cursor that differs from a sealed one in one bit opens.
func TestOneBit(t *testing.T) {
	t.Parallel()
	k := newKeys(t, secret(0))
	for _, text := range []string{"", "a", "ab", "abc", strings.Repeat("position ", 9)} {
		token := k.seal([]byte(text))
		plain, failed := k.open(token)
		require.Equal(t, opened, failed)
		require.Equal(t, text, string(plain))
		for i := range len(token) {
			for bit := range 8 {
				changed := []byte(token)
				changed[i] ^= 1 << bit
				if i < len(tokenPrefix) {
					require.False(t, isPlaceholder(string(changed)), "it is refused, and not taken for no cursor")
					require.False(t, strings.HasPrefix(string(changed), tokenPrefix))
					continue
				}
				_, failed := k.open(string(changed))
				require.NotEqual(t, opened, failed, "byte %d, bit %d", i, bit)
			}
		}
		for i := range token[len(tokenPrefix):] {
			_, failed := k.open(token[:len(tokenPrefix)+i])
			require.NotEqual(t, opened, failed)
		}
	}
}

func TestSealsDiffer(t *testing.T) {
	t.Parallel()
	k := newKeys(t, secret(0))
	require.NotEqual(t, k.seal([]byte("x")), k.seal([]byte("x")))
}

// cursorOf returns the cursor of the first page.
func cursorOf(t *testing.T, p *Pager[filter, row], req *mcp.CallToolRequest, q filter) string {
	t.Helper()
	_, page, err := p.Page(context.Background(), req, Input{Limit: 2}, q)
	require.NoError(t, err)
	require.NotNil(t, page.NextCursor)
	return *page.NextCursor
}

func asUser(req *mcp.CallToolRequest, id string) *mcp.CallToolRequest {
	req.Extra = &mcp.RequestExtra{TokenInfo: &auth.TokenInfo{UserID: id}}
	return req
}

// TestCursorRejections: each has an error and a reason of its own, and all say
// how to go on.
func TestCursorRejections(t *testing.T) {
	t.Parallel()
	var seen []Rejection
	opts := func(k *Keys) *Options {
		return &Options{Keys: k, Observer: observe.Func(func(_ context.Context, e observe.Event) {
			seen = append(seen, e.(CursorRejected).Reason)
		})}
	}
	old, current := newKeys(t, secret(0)), newKeys(t, secret(1))
	p := pagers(20, opts(current))["keyset"]
	ada := func(arguments map[string]any) *mcp.CallToolRequest { return asUser(request(arguments), "ada") }
	good := cursorOf(t, p, ada(nil), filter{Status: "paid"})
	other := request(nil)
	other.Params.Name = "list"

	for _, tt := range []struct {
		name   string
		req    *mcp.CallToolRequest
		cursor string
		query  filter
		why    Rejection
		want   string
	}{
		{"changed", ada(nil), good[:len(good)-2] + "AA", filter{}, CursorDamaged, "damaged on its way"},
		{"cut off", ada(nil), good[:len(good)/2], filter{}, CursorDamaged, "copy next_cursor exactly"},
		{"only the prefix", ada(nil), tokenPrefix, filter{}, CursorDamaged, "damaged"},
		{"longer", ada(nil), good + "AAAA", filter{}, CursorDamaged, "damaged"},
		{"very long", ada(nil), tokenPrefix + strings.Repeat("A", 1<<20), filter{}, CursorTooLong, "1048580 bytes"},
		{"another service's", ada(nil), base64.StdEncoding.EncodeToString([]byte(`{"offset":40,"status":"paid"}`)), filter{}, CursorForeign, "was not made by search"},
		{"an invented page", ada(nil), "page 7", filter{}, CursorForeign, `"page 7" was not made by search`},
		{"an old key", ada(nil), cursorOf(t, pagers(20, opts(old))["keyset"], ada(nil), filter{}), filter{}, CursorUnknownKey, "a key that is no longer in use"},
		{"another caller", asUser(request(nil), "bob"), good, filter{}, CursorOtherCaller, "another caller"},
		{"nobody", request(nil), good, filter{}, CursorOtherCaller, "another caller"},
		{"another tool", asUser(other, "ada"), good, filter{}, CursorOtherTool, "by another tool, not by list"},
		{"another value", ada(map[string]any{"status": "open"}), good, filter{Status: "open"}, CursorConflict, `The cursor belongs to a call with status = "paid", and this one says status = "open"`},
		{"a filter more", ada(map[string]any{"paid": true}), good, filter{Paid: true}, CursorConflict, "a call with no paid, and this one says paid = true"},
	} {
		seen = nil
		_, _, err := p.Page(context.Background(), tt.req, Input{Cursor: tt.cursor}, tt.query)
		var f *errors.Failure
		require.ErrorAs(t, err, &f, tt.name)
		require.Equal(t, errors.KindInvalidInput, f.Kind(), tt.name)
		require.Contains(t, f.Error(), tt.want, tt.name)
		require.Contains(t, f.Error(), "cursor", tt.name)
		require.Equal(t, []Rejection{tt.why}, seen, tt.name)
		require.Less(t, len(f.Error()), 500, tt.name)
	}
}

func TestCursorAfterRestart(t *testing.T) {
	t.Parallel()
	random := newKeys(t, secret(2))
	random.passing = true
	p := pagers(20, &Options{Keys: random, Observer: observe.Discard})["slice"]
	_, _, err := p.Page(context.Background(), nil, Input{Cursor: cursorOf(t, pagers(20, quiet(Bounds{}))["slice"], nil, filter{})}, filter{})
	require.ErrorContains(t, err, "before the server was restarted")
	require.ErrorContains(t, err, "without cursor to start from the first page")
}

// TestDefaultKeys: a pager that is made anew reads the cursors of the one
// before, as long as the process lives.
func TestDefaultKeys(t *testing.T) {
	t.Parallel()
	cursor := cursorOf(t, pagers(20, nil)["slice"], nil, filter{})
	_, page, err := pagers(20, nil)["slice"].Page(context.Background(), nil, Input{Cursor: cursor}, filter{})
	require.NoError(t, err)
	require.Equal(t, 3, page.Items[0].ID)
}

func TestKeyRotation(t *testing.T) {
	t.Parallel()
	before := newKeys(t, secret(0))
	during := newKeys(t, secret(1), secret(0))
	after := newKeys(t, secret(1))
	token := before.seal([]byte("x"))
	for _, tt := range []struct {
		keys *Keys
		want openError
	}{{before, opened}, {during, opened}, {after, unknownKey}} {
		_, got := tt.keys.open(token)
		require.Equal(t, tt.want, got)
	}
	_, got := after.open(during.seal([]byte("x")))
	require.Equal(t, opened, got)
}

func TestCursorAge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := pagers(20, &Options{Keys: newKeys(t, secret(0)), MaxAge: time.Hour, Observer: observe.Discard})["slice"]
		cursor := cursorOf(t, p, nil, filter{})
		time.Sleep(time.Hour)
		_, _, err := p.Page(context.Background(), nil, Input{Cursor: cursor}, filter{})
		require.NoError(t, err)
		time.Sleep(time.Minute)
		_, _, err = p.Page(context.Background(), nil, Input{Cursor: cursor}, filter{})
		require.ErrorContains(t, err, "The cursor is 1h1m0s old; cursors can be used for 1h0m0s")
	})
}

// TestPlaceholders: what models write when they mean no cursor (B178).
func TestPlaceholders(t *testing.T) {
	t.Parallel()
	p := pagers(20, quiet(Bounds{Limit: 2}))["keyset"]
	for _, cursor := range []string{" ", "0", "1", "start", "null", "None", "undefined", "first", "-1", "<cursor>", "page 1", "*", "\n"} {
		res, page, err := p.Page(context.Background(), request(map[string]any{"cursor": cursor}), Input{Cursor: cursor}, filter{})
		require.NoError(t, err, cursor)
		require.Equal(t, 1, page.Items[0].ID)
		note := res.Content[1].(*mcp.TextContent).Text
		require.Contains(t, note, "is no cursor of search: this is the first page.", cursor)
		require.Equal(t, 1, strings.Count(note, `"cursor":`), "the invented cursor is not repeated")
	}
	// These may mean another page, and page one in their place would be read as it.
	for _, cursor := range []string{"next", "2", "pc1", "eyJvZmZzZXQiOjEwMH0=", "MTAwMDA=", "page 2"} {
		_, _, err := p.Page(context.Background(), request(map[string]any{"cursor": cursor}), Input{Cursor: cursor}, filter{})
		require.ErrorContains(t, err, "was not made by search", cursor)
	}
	// Copied with what stood around it.
	token := cursorOf(t, p, request(nil), filter{})
	for _, cursor := range []string{" " + token, token + "\n", `"` + token + `"`, "`" + token + "`"} {
		_, page, err := p.Page(context.Background(), request(nil), Input{Cursor: cursor}, filter{})
		require.NoError(t, err, cursor)
		require.Equal(t, 3, page.Items[0].ID)
	}
	// Nothing is said about no cursor at all.
	res, _, err := p.Page(context.Background(), request(map[string]any{"cursor": ""}), Input{}, filter{})
	require.NoError(t, err)
	require.NotContains(t, res.Content[1].(*mcp.TextContent).Text, "first page")
	// The last page has a note too, then.
	res, _, err = pagers(1, quiet(Bounds{}))["slice"].Page(context.Background(), request(nil), Input{Cursor: "start"}, filter{})
	require.NoError(t, err)
	require.Equal(t, `"start" is no cursor of search: this is the first page.`, res.Content[1].(*mcp.TextContent).Text)
}

// TestQueryTravels: what the source is asked on the second page.
func TestQueryTravels(t *testing.T) {
	t.Parallel()
	var asked filter
	p := Slice(func(_ context.Context, q filter) ([]row, error) {
		asked = q
		return rows(20), nil
	}, quiet(Bounds{Limit: 2, Max: 10}))
	first := filter{Status: "paid", Paid: true, tenant: "a"}
	cursor := cursorOf(t, p, request(map[string]any{"status": "paid", "paid": true, "limit": 2}), first)
	for _, tt := range []struct {
		name      string
		arguments map[string]any
		query     filter // as the SDK decodes it, with defaults
		limit     int
		items     int
	}{
		{"left out", map[string]any{}, filter{tenant: "a"}, 0, 2},
		{"filled in by a default", map[string]any{}, filter{Status: "open", tenant: "a"}, 5, 2},
		{"repeated", map[string]any{"status": "paid", "paid": true}, first, 0, 2},
		{"empty", map[string]any{"status": "", "paid": nil}, filter{tenant: "a"}, 0, 2},
		{"with a parameter that is not of the query", map[string]any{"format": "short"}, filter{tenant: "a"}, 0, 2},
		{"with another limit", map[string]any{"limit": 4}, filter{tenant: "a"}, 4, 4},
	} {
		tt.arguments["cursor"] = cursor
		_, page, err := p.Page(context.Background(), request(tt.arguments), Input{Limit: tt.limit, Cursor: cursor}, tt.query)
		require.NoError(t, err, tt.name)
		require.Equal(t, first, asked, tt.name)
		require.Len(t, page.Items, tt.items, tt.name)
		require.Equal(t, 3, page.Items[0].ID, tt.name)
	}
	// What is not encoded is of the call at hand.
	_, _, err := p.Page(context.Background(), nil, Input{Cursor: cursorOf(t, p, nil, first)}, filter{tenant: "b"})
	require.NoError(t, err)
	require.Equal(t, filter{Status: "paid", Paid: true, tenant: "b"}, asked)
}

// TestExplicitFalseConflicts: an argument that is dropped from the query's JSON
// for being zero is compared all the same.
func TestExplicitFalseConflicts(t *testing.T) {
	t.Parallel()
	p := pagers(20, quiet(Bounds{}))["slice"]
	cursor := cursorOf(t, p, request(map[string]any{"paid": true}), filter{Paid: true})
	_, _, err := p.Page(context.Background(), request(map[string]any{"paid": false}), Input{Cursor: cursor}, filter{})
	require.ErrorContains(t, err, "paid = true, and this one says paid = false")
	cursor = cursorOf(t, p, request(map[string]any{"paid": false}), filter{})
	_, _, err = p.Page(context.Background(), request(map[string]any{"paid": false}), Input{Cursor: cursor}, filter{})
	require.NoError(t, err)
}

// TestWholeInputAsQuery: limit and cursor are not part of it.
func TestWholeInputAsQuery(t *testing.T) {
	t.Parallel()
	type search struct {
		Input
		filter
	}
	p := Slice(func(context.Context, search) ([]row, error) { return rows(50), nil }, quiet(Bounds{Limit: 2}))
	in := search{filter: filter{Status: "paid"}}
	length := 0
	for range 5 {
		_, page, err := p.Page(context.Background(), request(in), in.Input, in)
		require.NoError(t, err)
		in = search{Input: Input{Cursor: *page.NextCursor, Limit: 3}}
		if length > 0 {
			require.InDelta(t, length, len(in.Cursor), 2)
		}
		length = len(in.Cursor)
	}
}

// TestLongQuery: one that is too long to travel has to be repeated.
func TestLongQuery(t *testing.T) {
	t.Parallel()
	p := pagers(20, quiet(Bounds{}))["slice"]
	long := filter{Status: strings.Repeat("s", 2000)}
	cursor := cursorOf(t, p, request(long), long)
	require.Less(t, len(cursor), 400)
	_, page, err := p.Page(context.Background(), request(long), Input{Cursor: cursor}, long)
	require.NoError(t, err)
	require.Equal(t, 3, page.Items[0].ID)
	_, _, err = p.Page(context.Background(), request(nil), Input{Cursor: cursor}, filter{})
	require.ErrorContains(t, err, "repeat the filters of the first call exactly")
}

func TestPrincipalOption(t *testing.T) {
	t.Parallel()
	p := pagers(20, &Options{Principal: func(r mcp.Request) string { return r.(*mcp.CallToolRequest).Params.Meta["tenant"].(string) }, Observer: observe.Discard})["slice"]
	as := func(tenant string) *mcp.CallToolRequest {
		r := request(nil)
		r.Params.Meta = mcp.Meta{"tenant": tenant}
		return r
	}
	cursor := cursorOf(t, p, as("a"), filter{})
	_, _, err := p.Page(context.Background(), as("a"), Input{Cursor: cursor}, filter{})
	require.NoError(t, err)
	_, _, err = p.Page(context.Background(), as("b"), Input{Cursor: cursor}, filter{})
	require.ErrorContains(t, err, "another caller")
}

func FuzzCursor(f *testing.F) {
	keys := newKeys(f, secret(0))
	opts := (&Options{Keys: keys, Observer: observe.Discard}).orDefault()
	good := keys.seal((&content{issued: time.Now(), tool: digestOf("search"), query: "{}", position: "5"}).encode())
	for _, s := range []string{good, good[:20], tokenPrefix, "start", " ", "page 2", tokenPrefix + "====", good + "\n", strings.Repeat("A", 5000)} {
		f.Add(s, []byte(s))
	}
	p := pagers(20, &opts)["slice"]
	f.Fuzz(func(t *testing.T, token string, plain []byte) {
		c, r := opts.openCursor(token, "search", "")
		if r == nil && token != good {
			t.Fatalf("opened %q: %v", token, c)
		}
		if _, _, err := p.Page(context.Background(), nil, Input{Cursor: token}, filter{}); err != nil {
			var f *errors.Failure
			require.ErrorAs(t, err, &f)
			require.Less(t, len(err.Error()), 600)
		}
		if c, ok := decodeContent(plain); ok {
			again, ok := decodeContent(c.encode())
			require.True(t, ok)
			require.Equal(t, c, again)
		}
		// Content that is sealed and no position of this source.
		sealed := keys.seal((&content{issued: time.Now(), tool: digestOf("this tool"), caller: digestOf(""), query: token, position: string(plain)}).encode())
		_, _, _ = p.Page(context.Background(), nil, Input{Cursor: sealed}, filter{})
		in, err := ParseInput(plain, Bounds{})
		if err == nil {
			require.GreaterOrEqual(t, in.Limit, 0)
			require.LessOrEqual(t, in.Limit, 50)
		}
	})
}
