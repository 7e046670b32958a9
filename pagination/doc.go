// Package pagination gives every result an upper bound, and a way to the rest.
package pagination
