//go:build !unix && !windows

package stdioguard

import (
	"errors"
	"fmt"

	"github.com/steadymcp/steady/observe"
)

func claimStdio(*Options, func(observe.Event)) (*claim, error) {
	return nil, fmt.Errorf("guarding standard input and output: %w", errors.ErrUnsupported)
}

// goneErrors are what a write says when nobody has the other end.
var goneErrors = []error{}
