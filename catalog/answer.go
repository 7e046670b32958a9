package catalog

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
)

// An Answer is what running an entry gave.
type Answer struct {
	// Data is JSON. If empty, null.
	Data json.RawMessage
	// RateLimit is nil if nothing is known.
	RateLimit *RateLimit
	// Content are blocks that are no JSON, such as images.
	Content []mcp.Content
	// Meta goes into _meta of the result. A batch has no place for it.
	Meta mcp.Meta
	// Result, if non-nil, is the answer instead: a tool's own error, or its
	// request for more input.
	Result *mcp.CallToolResult
}

// unanswered says that there was no answer.
func (u *Upstream) unanswered(op *operation, err error) *errors.Failure {
	err = kindOf(err)
	switch {
	case err == errRedirect:
		return errors.Unavailable("the API redirected the call of %s", op.ID).Because("it is not followed there").Cause(err).DoNotRetry()
	case err == errAddress:
		return errors.Unavailable("the API's host is not where it should be").Cause(err).DoNotRetry()
	case err == context.DeadlineExceeded:
		return op.again(errors.Timeout("the API did not answer %s in time", op.ID).Cause(err), 0)
	}
	return op.again(errors.Unavailable("the API did not answer %s", op.ID).Cause(err), 0)
}

// kindOf returns what kind of error a request ended with. The text of the error
// itself is not for a log: it may quote the URL with its arguments, and what the
// API sent, which may be the credential that it was sent.
func kindOf(err error) error {
	for _, known := range []error{errRedirect, errAddress, context.DeadlineExceeded, context.Canceled, io.ErrUnexpectedEOF, io.EOF, net.ErrClosed, http.ErrSchemeMismatch} {
		if errors.Is(err, known) {
			return known
		}
	}
	if n, ok := errors.AsType[syscall.Errno](err); ok {
		return n
	}
	if e, ok := errors.AsType[*net.DNSError](err); ok {
		if e.IsNotFound {
			return errors.New("the host has no address")
		}
		return errors.New("the host's name was not resolved")
	}
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return context.DeadlineExceeded
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return errors.New("the host's certificate is not valid")
	}
	if e, ok := errors.AsType[*net.OpError](err); ok && e.Op == "dial" {
		return errors.New("the connection was not made")
	}
	return errors.New("the answer is no HTTP, or not for this request")
}

// again advises on a repetition after a failure that may pass. A write that
// may have happened is not simply repeated.
func (op *operation) again(f *errors.Failure, after time.Duration) *errors.Failure {
	if op.repeats() {
		return f.RetryAfter(after)
	}
	return f.DoNotRetry().Next("find out with a call that reads whether it took effect, and repeat it only if it did not")
}

// refused turns a status into a failure. The body is not shown: it may hold
// what is not for the model, and it is the API's word, not ours.
func (u *Upstream) refused(op *operation, res *http.Response) *errors.Failure {
	wait := retryAfter(res.Header, u.now())
	status := res.StatusCode
	because := fmt.Sprintf("the API answered with status %d", status)
	switch {
	case status == http.StatusNotModified:
		return errors.Unavailable("the API sent nothing for %s", op.ID).Because("%s, as if its answer were already known", because).DoNotRetry()
	case status >= 300 && status < 400:
		return errors.Unavailable("the API redirected the call of %s", op.ID).Because("%s, and redirects are not followed", because).DoNotRetry()
	case status == http.StatusTooManyRequests:
		if wait == 0 {
			if l := readRateLimit(res.Header, u.now()); l != nil && l.Reset != nil {
				wait = min(time.Duration(min(*l.Reset, 1<<31))*time.Second, 24*time.Hour)
			}
		}
		return errors.RateLimited("the quota for %s is used up", op.ID).Because("%s", because).Next("wait, or do without it; searching the catalog is free").RetryAfter(wait)
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return errors.Denied("this caller may not call %s", op.ID).Because("%s", because)
	case status == http.StatusPaymentRequired:
		return errors.Denied("%s is not in this caller's plan, or is to be paid for", op.ID).Because("%s", because)
	case status == http.StatusUnavailableForLegalReasons:
		return errors.Denied("%s is not available for legal reasons", op.ID).Because("%s", because)
	case (status == http.StatusNotFound || status == http.StatusGone) && op.ID == freePath:
		return errors.NotFound("nothing is at the path").Because("%s", because).Next("check how the path is spelt, or look for an entry")
	case status == http.StatusNotFound, status == http.StatusGone:
		return errors.NotFound("%s found nothing for these arguments", op.ID).Because("%s", because).Next("check the values: %s", op.usage())
	case status == http.StatusConflict, status == http.StatusPreconditionFailed, status == http.StatusLocked:
		return errors.Refused("the API refused %s in its present state", op.ID).Because("%s", because)
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly:
		return op.again(errors.Timeout("the API gave up on %s", op.ID).Because("%s", because), wait)
	case status == http.StatusNotImplemented, status == http.StatusMethodNotAllowed:
		return errors.Unavailable("the API does not offer %s at present", op.ID).Because("%s", because).DoNotRetry()
	case status >= 500:
		return op.again(errors.Unavailable("the API failed at %s", op.ID).Because("%s", because), wait)
	}
	return errors.Invalid("the API did not accept the arguments of %s", op.ID).Because("%s", because).Next("%s", op.usage())
}

// maxDepth bounds the nesting of an answer: clients give up on more.
const maxDepth = 200

// readBody reads an answer. What is not JSON is wrapped.
func (u *Upstream) readBody(op *operation, res *http.Response) (json.RawMessage, error) {
	body, err := io.ReadAll(io.LimitReader(res.Body, u.opts.MaxBytes+1))
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return nil, op.again(errors.Timeout("the API's answer to %s took too long", op.ID).Cause(kindOf(err)), 0)
		}
		return nil, op.again(errors.Unavailable("the API's answer to %s broke off", op.ID).Cause(kindOf(err)), 0)
	}
	if int64(len(body)) > u.opts.MaxBytes {
		return nil, op.unusable("is larger than %d bytes", u.opts.MaxBytes)
	}
	body = bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")))
	if len(body) == 0 {
		return json.RawMessage("null"), nil
	}
	kind, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil {
		kind = ""
	}
	claimsJSON := kind == "application/json" || strings.HasSuffix(kind, "+json")
	if claimsJSON || kind == "" && json.Valid(body) {
		if !json.Valid(body) || depth(body) > maxDepth {
			if !op.reads() {
				return nil, op.unusable("is not usable JSON")
			}
			return nil, op.again(errors.Unavailable("the API answered %s with something that is not usable JSON", op.ID), 0)
		}
		if !utf8.Valid(body) {
			body = bytes.ToValidUTF8(body, []byte("\ufffd"))
		}
		return body, nil
	}
	if kind == "" {
		kind = "application/octet-stream"
	}
	wrapped := map[string]any{"content_type": kind}
	if utf8.Valid(body) && bytes.IndexByte(body, 0) < 0 {
		wrapped["text"] = string(body)
	} else {
		wrapped["base64"] = base64.StdEncoding.EncodeToString(body)
	}
	return json.Marshal(wrapped)
}

// unusable says that an entry was called and its answer cannot be shown. What
// was carried out is not to be repeated for that.
func (op *operation) unusable(format string, args ...any) *errors.Failure {
	why := fmt.Sprintf(format, args...)
	if !op.reads() {
		return errors.Unavailable("%s was carried out, and its answer cannot be shown", op.ID).Because("the answer %s", why).DoNotRetry().Next("do not call it again; look at what it did with a call that reads")
	}
	return errors.Invalid("the answer of %s %s", op.ID, why).Next("ask for less, with a filter, a shorter range or a smaller limit: %s", op.usage())
}

// depth returns how deep valid JSON is nested.
func depth(b []byte) int {
	most, now, quoted := 0, 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			now++
			most = max(most, now)
		case c == '}' || c == ']':
			now--
		}
	}
	return most
}
