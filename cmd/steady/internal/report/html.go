package report

import (
	_ "embed"
	"html/template"
	"io"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{"printable": Printable, "about": about}).Parse(pageText))

// WriteHTML writes one page that needs nothing else.
func (r *Report) WriteHTML(w io.Writer) error {
	return page.Execute(w, map[string]any{"Report": r, "Groups": r.groups(true), "Counts": map[string]int{
		"error": r.Count("error"), "warning": r.Count("warning"), "info": r.Count("info"),
	}})
}
