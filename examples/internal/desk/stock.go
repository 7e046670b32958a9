package desk

import "slices"

// Reserve takes quantity of a product out of stock and returns the product as
// it then stands. The error is a [*NotFoundError] or an [*OutOfStockError];
// a quantity below one is a mistake of the program and panics.
func (d *Desk) Reserve(sku string, quantity int) (Product, error) {
	if quantity < 1 {
		panic("desk: Reserve of a quantity below one")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	i, ok := d.product[sku]
	if !ok {
		return Product{}, &NotFoundError{What: "product", ID: sku}
	}
	p := &d.products[i]
	if quantity > p.Stock {
		return Product{}, &OutOfStockError{Product: *p, Asked: quantity}
	}
	p.Stock -= quantity
	return *p, nil
}

// Products returns all products.
func (d *Desk) Products() []Product {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return slices.Clone(d.products)
}

// Low reports whether the stock is low.
func (p Product) Low() bool { return p.Stock <= p.LowAt }
