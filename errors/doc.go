// Package errors turns expected failures into results that a model can act
// on, and keeps everything else private.
package errors
