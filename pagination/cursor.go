package pagination

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"
	"time"

	"github.com/steadymcp/steady/errors"
)

// content is what a cursor says once it is open.
type content struct {
	issued time.Time // to the second
	tool   digest
	caller digest
	limit  int
	// digested is whether query is only the digest of one that is too long to
	// travel.
	digested bool
	query    string // JSON
	position string // where the next page begins; for the source to read
}

// digest names a tool or a caller in the sealed content, where nobody can
// search for another one with the same digest.
type digest [8]byte

func digestOf(s string) digest {
	sum := sha256.Sum256([]byte(s))
	return digest(sum[:])
}

// maxQuery is the longest query that travels in a cursor, in bytes of JSON.
// Models copy cursors one token at a time, and make mistakes in long ones.
const maxQuery = 1024

const contentHeader = 1 + 2*len(digest{})

func (c *content) encode() []byte {
	buf := make([]byte, 1, contentHeader+3*binary.MaxVarintLen64+len(c.query)+len(c.position))
	if c.digested {
		buf[0] = 1
	}
	buf = append(buf, c.tool[:]...)
	buf = append(buf, c.caller[:]...)
	buf = binary.AppendUvarint(buf, uint64(max(c.issued.Unix(), 0)))
	buf = binary.AppendUvarint(buf, uint64(max(c.limit, 0)))
	buf = binary.AppendUvarint(buf, uint64(len(c.query)))
	buf = append(buf, c.query...)
	return append(buf, c.position...)
}

// decodeContent is the reverse of encode. It never fails for bytes that a key
// of ours has authenticated, and does not rely on that.
func decodeContent(buf []byte) (c content, ok bool) {
	if len(buf) < contentHeader || buf[0] > 1 {
		return c, false
	}
	c.digested = buf[0] == 1
	buf = buf[1:]
	buf = buf[copy(c.tool[:], buf):]
	buf = buf[copy(c.caller[:], buf):]
	number := func() uint64 {
		n, size := binary.Uvarint(buf)
		if size <= 0 {
			ok = false
			return 0
		}
		buf = buf[size:]
		return n
	}
	ok = true
	issued, limit, query := number(), number(), number()
	const latest = 1 << 40 // some tens of thousands of years
	if !ok || issued > latest || limit > 1<<31-1 || query > uint64(len(buf)) {
		return c, false
	}
	c.issued = time.Unix(int64(issued), 0)
	c.limit = int(limit)
	c.query = string(buf[:query])
	c.position = string(buf[query:])
	return c, true
}

// A Rejection is why a cursor was not followed.
type Rejection string

// The reasons.
const (
	CursorDamaged     Rejection = "damaged"      // changed on its way, or cut off
	CursorForeign     Rejection = "foreign"      // not made by this package
	CursorTooLong     Rejection = "too_long"     // above 4096 bytes
	CursorUnknownKey  Rejection = "unknown_key"  // from before a restart, or a key since retired
	CursorExpired     Rejection = "expired"      // older than Options.MaxAge
	CursorOtherTool   Rejection = "other_tool"   // handed out by another tool
	CursorOtherCaller Rejection = "other_caller" // handed out to somebody else
	CursorConflict    Rejection = "conflict"     // the call asks for other rows
)

// rejected is what a caller reads about a cursor that was not followed.
func rejected(why Rejection, tool string, format string, args ...any) *rejectedCursor {
	f := errors.Invalid(format, args...)
	switch why {
	case CursorConflict:
	case CursorDamaged:
		f = f.Next("copy next_cursor exactly as %s returned it, or call %s without cursor to start from the first page", tool, tool)
	default:
		f = f.Next("call %s without cursor to start from the first page", tool)
	}
	return &rejectedCursor{why, f}
}

type rejectedCursor struct {
	why     Rejection
	failure *errors.Failure
}

// openCursor reads a token that was made for tool and caller.
func (o *Options) openCursor(token, tool, caller string) (content, *rejectedCursor) {
	if !strings.HasPrefix(token, tokenPrefix) {
		return content{}, rejected(CursorForeign, tool, "The cursor %q was not made by %s", shorten(token, 24), tool)
	}
	plain, failed := o.keys().open(token)
	switch failed {
	case tooLong:
		return content{}, rejected(CursorTooLong, tool, "The cursor has %d bytes; none that %s makes has more than %d", len(token), tool, maxToken)
	case unknownKey:
		r := rejected(CursorUnknownKey, tool, "The cursor can no longer be read")
		if o.keys().passing {
			r.failure = r.failure.Because("it was made before the server was restarted, or was damaged on its way")
		} else {
			r.failure = r.failure.Because("it was sealed with a key that is no longer in use, or was damaged on its way")
		}
		return content{}, r
	}
	c, ok := decodeContent(plain)
	if failed == damaged || !ok {
		return content{}, rejected(CursorDamaged, tool, "The cursor was damaged on its way, or cut off")
	}
	if age := time.Since(c.issued); age > o.MaxAge {
		return content{}, rejected(CursorExpired, tool, "The cursor is %s old; cursors can be used for %s", age.Round(time.Second), o.MaxAge)
	}
	if c.caller != digestOf(caller) {
		return content{}, rejected(CursorOtherCaller, tool, "The cursor was handed out to another caller or session")
	}
	if c.tool != digestOf(tool) {
		return content{}, rejected(CursorOtherTool, tool, "The cursor was handed out by another tool, not by %s", tool)
	}
	return c, nil
}

// isPlaceholder reports whether a cursor, without space and quotes around it, is
// something that models write when they mean "no cursor". Such a call has
// nothing it could correct. Whatever could mean another page than the first, as
// "next" or the cursor of another service, is none of these.
func isPlaceholder(cursor string) bool {
	switch strings.ToLower(cursor) {
	case "", "0", "1", "start", "first", "begin", "beginning", "initial", "none", "null", "nil", "undefined",
		"n/a", "empty", "false", "{}", "[]", "-1", "*", "<cursor>", "page 1":
		return true
	}
	return false
}
