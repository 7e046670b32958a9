// Package pagination gives every result an upper bound, and a way to the rest.
//
// A tool whose answer is sized by the data works in development and ends the
// session in production. Two things keep that from happening, and each works
// without the other.
//
//	pager := pagination.Keyset(ordersAfter, func(o Order) string { return o.ID }, nil)
//	search := func(ctx context.Context, req *mcp.CallToolRequest, in SearchInput) (*mcp.CallToolResult, pagination.Page[Order], error) {
//		return pager.Page(ctx, req, in.Input, in.Filter) // SearchInput embeds pagination.Input
//	}
//	mcp.AddTool(server, pagination.Tool[SearchInput](searchTool, pager), search)
//	server.AddReceivingMiddleware(pagination.NewBudget(nil).Middleware())
//
// # Pages
//
// A [Pager] answers a call with one [Page]: some items, and the cursor of the
// page behind them. [Tool] puts the bounds into the tool's schemas, so that a
// limit above the maximum is refused before the handler runs; the pager
// enforces them again. The cursor is sealed: it carries the query, it belongs
// to one tool and one caller, and it ends with its age. What was changed,
// expired or handed to somebody else has an error of its own that says how to
// start over. The text of a page with more to come ends with the exact next
// call.
//
// # Budgets
//
// A [Budget] bounds whatever a handler returns, as it goes on the wire. What is
// above the limit is cut so that it stays useful:
//
//   - of structured content, and of text that is JSON, whole items are dropped
//     from the end of the longest array. Arrays of one length beside it are
//     columns of the same table and keep the same rows.
//   - a single item that is too much has its longest strings shortened.
//   - other text ends with a line, or with a rune, and never inside base64.
//   - images, sounds and embedded resources become a sentence with their size.
//
// Structured content and the same JSON as text stay the same. What is cut
// still fits the tool's output schema; where that cannot be, the answer is an
// error that says what to narrow. Numbers keep their digits, because nothing is
// decoded. The last text says how much there was, how much is shown, and how
// to get the rest; the same facts stand in _meta under "steady/budget".
//
// # Order
//
//	budget( handler )
//
// Everything that rewrites names or arguments, and everything that answers in
// the handler's place, stands outside.
package pagination
