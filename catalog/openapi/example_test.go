package openapi_test

import (
	"fmt"
	"log"

	"github.com/steadymcp/steady/catalog"
	"github.com/steadymcp/steady/catalog/openapi"
)

func Example() {
	document := []byte(`
openapi: 3.1.0
info: {title: Orders, version: 2.0.0}
servers: [{url: https://api.example.com/v2}]
paths:
  /orders/{id}:
    get:
      operationId: getOrder
      summary: Look up one order by its number
      parameters: [{name: id, in: path, required: true, schema: {type: string}, example: ORD-7}]
`)
	doc, err := openapi.Parse(document, nil)
	if err != nil {
		log.Fatal(err)
	}
	up, err := catalog.NewUpstream(doc.Server, nil)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := catalog.New(doc.Source(), &catalog.Options{Caller: up}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(doc.Entries[0].ID, doc.Entries[0].Method, doc.Entries[0].Path, string(doc.Entries[0].Example))
	// Output: getOrder GET /orders/{id} {"id":"ORD-7"}
}
