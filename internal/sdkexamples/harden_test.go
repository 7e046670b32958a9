package sdkexamples

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
)

// harden makes the change that docs/adopting.md describes to the source of a
// program: steady.Wrap before the statement that starts to serve, and steady.Run
// in the place of server.Run on standard input and output.
// It returns how many servers it wrapped.
func harden(source []byte) ([]byte, int, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "main.go", source, parser.ParseComments)
	if err != nil {
		return nil, 0, err
	}
	type insertion struct {
		at   int
		text string
		cut  int // bytes that text replaces
	}
	var insertions []insertion
	offset := func(pos token.Pos) int { return set.Position(pos).Offset }

	servers := 0
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			var pending []string // servers that are made and not yet wrapped
			for _, stmt := range n.List {
				if name, ok := newServer(stmt); ok {
					pending = append(pending, name)
					continue
				}
				if len(pending) == 0 || !serves(stmt, pending) {
					continue
				}
				for _, name := range pending {
					insertions = append(insertions, insertion{at: offset(stmt.Pos()), text: fmt.Sprintf(
						"if _, err := steady.Wrap(%s, nil); err != nil {\n\t\tpanic(err)\n\t}\n\t", name)})
					servers++
				}
				pending = nil
			}
		case *ast.CallExpr:
			// server.Run(ctx, &mcp.StdioTransport{})
			if method, ok := n.Fun.(*ast.SelectorExpr); ok && method.Sel.Name == "Run" && len(n.Args) == 2 && isStdioTransport(n.Args[1]) {
				insertions = append(insertions, insertion{
					at:   offset(n.Pos()),
					cut:  int(n.End() - n.Pos()),
					text: fmt.Sprintf("steady.Run(%s, %s, nil)", text(source, set, n.Args[0]), text(source, set, method.X)),
				})
			}
		}
		return true
	})
	if servers > 0 {
		for _, decl := range file.Decls {
			if d, ok := decl.(*ast.GenDecl); ok && d.Tok == token.IMPORT && d.Lparen.IsValid() {
				insertions = append(insertions, insertion{at: offset(d.Rparen), text: "\n\t\"github.com/steadymcp/steady\"\n"})
				break
			}
		}
	}

	var out bytes.Buffer
	done := 0
	for len(insertions) > 0 {
		first := 0
		for i := range insertions {
			if insertions[i].at < insertions[first].at {
				first = i
			}
		}
		in := insertions[first]
		insertions = append(insertions[:first], insertions[first+1:]...)
		out.Write(source[done:in.at])
		out.WriteString(in.text)
		done = in.at + in.cut
	}
	out.Write(source[done:])
	hardened, err := format.Source(out.Bytes())
	return hardened, servers, err
}

// newServer reports the name in "name := mcp.NewServer(...)".
func newServer(stmt ast.Stmt) (string, bool) {
	assign, ok := stmt.(*ast.AssignStmt)
	if !ok || len(assign.Lhs) != 1 || len(assign.Rhs) != 1 || !calls(assign.Rhs[0], "NewServer") {
		return "", false
	}
	name, ok := assign.Lhs[0].(*ast.Ident)
	return name.Name, ok && name.Name != "_"
}

// serves reports whether a statement connects one of the servers, runs it, or
// hands it to an HTTP handler.
func serves(stmt ast.Stmt, servers []string) bool {
	found := false
	ast.Inspect(stmt, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if calls(call, "NewStreamableHTTPHandler") || calls(call, "NewSSEHandler") {
			found = true
		}
		if method, ok := call.Fun.(*ast.SelectorExpr); ok && (method.Sel.Name == "Run" || method.Sel.Name == "Connect") {
			for _, name := range servers {
				if x, ok := method.X.(*ast.Ident); ok && x.Name == name {
					found = true
				}
			}
		}
		return true
	})
	return found
}

// calls reports whether an expression is a call of a function of package mcp.
func calls(e ast.Expr, name string) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	fun, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := fun.X.(*ast.Ident)
	return ok && pkg.Name == "mcp" && fun.Sel.Name == name
}

// isStdioTransport reports whether an expression is &mcp.StdioTransport{}.
func isStdioTransport(e ast.Expr) bool {
	address, ok := e.(*ast.UnaryExpr)
	if !ok {
		return false
	}
	literal, ok := address.X.(*ast.CompositeLit)
	if !ok {
		return false
	}
	typ, ok := literal.Type.(*ast.SelectorExpr)
	return ok && typ.Sel.Name == "StdioTransport" && len(literal.Elts) == 0
}

func text(source []byte, set *token.FileSet, n ast.Node) string {
	return string(source[set.Position(n.Pos()).Offset:set.Position(n.End()).Offset])
}
