package catalog

import "github.com/steadymcp/steady/observe"

var quiet = observe.Discard
