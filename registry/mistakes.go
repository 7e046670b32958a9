package registry

import (
	"errors"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// A mistake is a registration that was refused.
type mistake struct {
	tool string // the name that was refused
	err  error
}

const (
	maxMistakes = 100 // that are remembered
	maxShown    = 10  // in the answer to tools/list
)

// Err returns every mistake that was made in registering tools and that was
// not mended since, or nil. Of more than 100 it returns the last ones.
//
// The mistakes made under a name are mended by registering a tool under that
// name, or, when the tool is to have another name or none, by
// [Registry.Remove] of the name that was refused ("" if the tool was nil).
//
// A main need not look at what each [Add] returns; one look at Err before it
// serves is enough. If it does not look at all, the mistakes show anyway: each
// is observed as [RegistrationRefused], and tools/list answers with them until
// they are mended. Only mistakes made after the first listing was served leave
// the server's other tools alone.
func (r *Registry) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for _, m := range r.mistakes {
		errs = append(errs, m.err)
	}
	return errors.Join(errs...)
}

// blame remembers a mistake, once however often it is made. r.mu is held.
func (r *Registry) blame(tool string, err error) {
	r.mistakes = slices.DeleteFunc(r.mistakes, func(m mistake) bool {
		return m.tool == tool && m.err.Error() == err.Error()
	})
	if len(r.mistakes) >= maxMistakes {
		r.mistakes = slices.Delete(r.mistakes, 0, 1)
	}
	r.mistakes = append(r.mistakes, mistake{tool, err})
}

// forgive forgets the mistakes made under a name. r.mu is held.
func (r *Registry) forgive(tool string) {
	r.mistakes = slices.DeleteFunc(r.mistakes, func(m mistake) bool { return m.tool == tool })
}

// mistakesError is what tools/list answers while registrations are wrong.
func mistakesError(mistakes []mistake) error {
	var b strings.Builder
	b.WriteString("tools were registered wrongly; see registry.Err")
	for _, m := range mistakes[:min(len(mistakes), maxShown)] {
		b.WriteString("\n")
		b.WriteString(m.err.Error())
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: b.String()}
}
