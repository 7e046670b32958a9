package desk

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Today is the day on which the desk is looked at. Orders lie in the year
// before it.
const Today = "2026-06-30"

// Orders that the examples rely on, whatever the seed.
const (
	ShippedOrder   = "ORD-42" // has shipped
	ForgottenOrder = "ORD-13" // its customer asked to be forgotten
)

var (
	givenNames  = []string{"Ada", "Bruno", "Chiara", "Dmitri", "Elif", "Farid", "Greta", "Hanna", "Ines", "Jonas", "Kenji", "Lena", "Marta", "Nils", "Olga", "Paulo", "Rosa", "Sven", "Tomás", "Yara"}
	familyNames = []string{"Aalto", "Bianchi", "Costa", "Dvořák", "Eriksen", "Fontaine", "Greco", "Huber", "Ivanova", "Jansen", "Kowalski", "Lindqvist", "Moreau", "Novak", "Okafor", "Pereira", "Rossi", "Schmidt", "Tanaka", "Weber"}
	cities      = []string{"Amsterdam", "Bologna", "Córdoba", "Dresden", "Espoo", "Gdańsk", "Helsinki", "Lisbon", "Lyon", "Munich", "Porto", "Vienna"}
	origins     = []string{"Antigua", "Bourbon", "Cerrado", "Djimmah", "Guji", "Huila", "Kirinyaga", "Mandheling", "Nariño", "Sidamo", "Tarrazú", "Yirgacheffe"}
	packs       = []struct {
		name  string
		cents int
	}{{"250 g", 890}, {"500 g", 1650}, {"1 kg", 2990}, {"1 kg, ground", 3090}, {"5 kg", 13900}}
)

func generate(o Options) *Desk {
	d := &Desk{
		exportTakes: o.ExportTakes,
		bucketFails: o.BucketFails,
		orders:      make([]Order, o.Orders),
		customer:    map[string]int{},
		product:     map[string]int{},
	}
	// The second half of the seed keeps this stream apart from any other that
	// a reader may derive from the same number.
	rng := rand.New(rand.NewPCG(o.Seed, 0x6f7264657273))
	for _, family := range familyNames {
		for _, given := range givenNames {
			c := Customer{
				ID:   fmt.Sprintf("CUS-%d", len(d.customers)+1),
				Name: given + " " + family,
				City: pick(rng, cities),
			}
			d.customer[c.ID] = len(d.customers)
			d.customers = append(d.customers, c)
		}
	}
	for _, origin := range origins {
		for _, pack := range packs {
			p := Product{
				SKU:       fmt.Sprintf("SKU-%d", len(d.products)+1),
				Name:      origin + ", " + pack.name,
				UnitCents: pack.cents + 10*rng.IntN(40),
				Stock:     20 + rng.IntN(180),
				LowAt:     10,
			}
			d.product[p.SKU] = len(d.products)
			d.products = append(d.products, p)
		}
	}
	last, err := time.Parse(time.DateOnly, Today)
	if err != nil {
		panic("desk: Today is not a day: " + err.Error())
	}
	for i := range d.orders {
		daysAgo := 365 * (o.Orders - 1 - i) / o.Orders
		d.orders[i] = d.generateOrder(rng, i, last.AddDate(0, 0, -daysAgo), daysAgo)
	}
	return d
}

func (d *Desk) generateOrder(rng *rand.Rand, i int, placed time.Time, daysAgo int) Order {
	o := Order{
		ID:         orderID(i),
		CustomerID: d.customers[rng.IntN(len(d.customers))].ID,
		Status:     generateStatus(rng, daysAgo),
		Placed:     placed.Format(time.DateOnly),
		Lines:      make([]Line, 1+rng.IntN(4)),
	}
	for j := range o.Lines {
		p := d.products[rng.IntN(len(d.products))]
		o.Lines[j] = Line{SKU: p.SKU, Product: p.Name, Quantity: 1 + rng.IntN(5), UnitCents: p.UnitCents}
		o.TotalCents += o.Lines[j].Quantity * p.UnitCents
	}
	switch o.ID {
	case ShippedOrder:
		o.Status = Shipped
	case ForgottenOrder:
		o.CustomerID, o.Status = "", Shipped
	}
	return o
}

// generateStatus lets most orders ship within three weeks; a few are left
// lying, as at any desk.
func generateStatus(rng *rand.Rand, daysAgo int) Status {
	n := rng.IntN(100)
	if daysAgo < 21 {
		switch {
		case n < 25:
			return Pending
		case n < 70:
			return Paid
		case n < 95:
			return Shipped
		}
		return Cancelled
	}
	switch {
	case n < 1:
		return Pending
	case n < 3:
		return Paid
	case n < 88:
		return Shipped
	case n < 95:
		return Cancelled
	}
	return Refunded
}

func orderID(i int) string { return fmt.Sprintf("ORD-%d", i+1) }

func pick(rng *rand.Rand, from []string) string { return from[rng.IntN(len(from))] }
