package stdioguard

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/steadymcp/steady/internal/wire"
)

// appendRequest appends a request or notification, without LF.
func appendRequest(dst []byte, r *jsonrpc.Request) []byte {
	dst = append(dst, `{"jsonrpc":"2.0"`...)
	if r.IsCall() {
		dst = append(dst, `,"id":`...)
		dst = appendID(dst, r.ID)
	}
	dst = append(dst, `,"method":`...)
	dst = wire.AppendString(dst, r.Method)
	if len(r.Params) > 0 {
		dst = append(dst, `,"params":`...)
		dst = appendClean(dst, r.Params)
	}
	return append(dst, '}')
}

// appendResponse appends a response, without LF. A response without an id, as
// the SDK makes for a request that it cannot attribute, gets the null id that
// JSON-RPC 2.0, section 5, asks for; without a result or an error, which no
// client can read, it becomes an error.
func appendResponse(dst []byte, r *jsonrpc.Response) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = appendID(dst, r.ID)
	switch {
	case r.Error != nil:
		dst = append(dst, `,"error":`...)
		dst = appendError(dst, wireError(r.Error))
	case len(r.Result) == 0 || string(r.Result) == "null":
		dst = append(dst, `,"error":`...)
		dst = appendError(dst, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the handler returned no result"})
	default:
		dst = append(dst, `,"result":`...)
		dst = appendClean(dst, r.Result)
	}
	return append(dst, '}')
}

// appendRejection appends an error response to an id that is given as raw
// text, null if it is nil.
func appendRejection(dst, id []byte, code int64, message string) []byte {
	if id == nil {
		id = []byte("null")
	}
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = appendClean(dst, id)
	dst = append(dst, `,"error":`...)
	dst = appendError(dst, &jsonrpc.Error{Code: code, Message: message})
	return append(dst, '}')
}

// wireError is what an error looks like on the wire: as the SDK has it, except
// that code 0, which means nothing, becomes "internal error".
func wireError(err error) *jsonrpc.Error {
	e, bare := err.(*jsonrpc.Error)
	if !bare {
		var inner *jsonrpc.Error
		e = &jsonrpc.Error{Message: err.Error()}
		if errors.As(err, &inner) {
			e.Code = inner.Code
		}
	}
	if e.Code == 0 {
		c := *e
		c.Code = jsonrpc.CodeInternalError
		e = &c
	}
	return e
}

func appendError(dst []byte, e *jsonrpc.Error) []byte {
	dst = append(dst, `{"code":`...)
	dst = strconv.AppendInt(dst, e.Code, 10)
	dst = append(dst, `,"message":`...)
	dst = wire.AppendString(dst, e.Message)
	if len(e.Data) > 0 && scanLine(e.Data) == nil {
		dst = append(dst, `,"data":`...)
		dst = appendClean(dst, e.Data)
	}
	return append(dst, '}')
}

func appendID(dst []byte, id jsonrpc.ID) []byte {
	switch v := id.Raw().(type) {
	case nil:
		return append(dst, "null"...)
	case int64:
		return strconv.AppendInt(dst, v, 10)
	case string:
		return wire.AppendString(dst, v)
	default: // the SDK makes no others
		return wire.AppendString(dst, fmt.Sprint(v))
	}
}
