package main

import (
	"fmt"
	"go/types"
	"path"
	"reflect"
	"strconv"
	"strings"
)

// typ renders a type in Go's syntax and notes the packages that it names.
func (d *description) typ(t types.Type) string { return types.TypeString(t, d.qualify) }

// qualify names a package as code would, and ours by their path below the
// module, since our errors is not the standard library's.
func (d *description) qualify(p *types.Package) string {
	if p == d.pkg {
		return ""
	}
	if ours, ok := strings.CutPrefix(p.Path(), d.root); ok && (ours == "" || ours[0] == '/') {
		return d.root[strings.LastIndex(d.root, "/")+1:] + ours
	}
	spec := strconv.Quote(p.Path())
	if path.Base(p.Path()) != p.Name() {
		spec = p.Name() + " " + spec
	}
	d.imports[spec] = true
	return p.Name()
}

// signature renders a function's type without the names of its parameters and
// results, which nobody's code depends on.
func (d *description) signature(s *types.Signature) string {
	unnamed := func(t *types.Tuple) *types.Tuple {
		var vars []*types.Var
		for v := range t.Variables() {
			vars = append(vars, types.NewParam(0, nil, "", v.Type()))
		}
		return types.NewTuple(vars...)
	}
	plain := types.NewSignatureType(nil, nil, nil, unnamed(s.Params()), unnamed(s.Results()), s.Variadic())
	return d.typeParams(s.TypeParams()) + strings.TrimPrefix(d.typ(plain), "func")
}

func (d *description) typeParams(list *types.TypeParamList) string {
	if list.Len() == 0 {
		return ""
	}
	var params []string
	for p := range list.TypeParams() {
		params = append(params, p.Obj().Name()+" "+d.typ(p.Constraint()))
	}
	return "[" + strings.Join(params, ", ") + "]"
}

// typeName describes one exported type.
func (d *description) typeName(obj *types.TypeName) {
	if alias, ok := obj.Type().(*types.Alias); ok && obj.IsAlias() {
		d.add("type %s%s = %s", obj.Name(), d.typeParams(alias.TypeParams()), d.typ(alias.Rhs()))
		return
	}
	named := obj.Type().(*types.Named)
	head := "type " + obj.Name() + d.typeParams(named.TypeParams())
	switch u := named.Underlying().(type) {
	case *types.Struct:
		d.add("%s struct", head)
		if types.Comparable(named) {
			d.add("type %s struct, comparable", obj.Name())
		}
		d.fields(obj.Name(), u)
	case *types.Interface:
		d.interfaceType(obj.Name(), head, u)
		return // its methods are described
	default:
		d.add("%s %s", head, d.typ(u))
	}
	d.methods(named)
}

// fields describes the exported fields of a struct, those that an unexported
// embedded struct promotes among them, with the name that they have in JSON.
func (d *description) fields(owner string, s *types.Struct) {
	for i := range s.NumFields() {
		field := s.Field(i)
		if !field.Exported() {
			if inner, ok := deref(field.Type()).Underlying().(*types.Struct); ok && field.Embedded() {
				d.fields(owner, inner)
			}
			continue
		}
		line := fmt.Sprintf("type %s struct, %s %s", owner, field.Name(), d.typ(field.Type()))
		if field.Embedded() {
			line = fmt.Sprintf("type %s struct, embedded %s", owner, d.typ(field.Type()))
		}
		if tag, ok := reflect.StructTag(s.Tag(i)).Lookup("json"); ok {
			line += fmt.Sprintf(" `json:%q`", tag)
		}
		d.add("%s", line)
	}
}

// interfaceType describes an interface. Where others can implement it, one line
// lists all of its methods, so that a further one, which breaks them, changes
// that line.
func (d *description) interfaceType(name, head string, u *types.Interface) {
	d.add("%s interface", head)
	if !u.IsMethodSet() {
		d.add("type %s interface, constraint %s", name, d.typ(u))
		return
	}
	sealed := false
	var all []string
	for m := range u.Methods() { // embedded ones too, sorted
		if !m.Exported() {
			sealed = true
			continue
		}
		all = append(all, m.Name())
		d.add("type %s interface, %s%s", name, m.Name(), d.signature(m.Signature()))
	}
	if sealed {
		d.add("type %s interface, cannot be implemented elsewhere", name)
	} else {
		d.add("type %s interface, complete { %s }", name, strings.Join(all, ", "))
	}
}

// methods describes the exported methods of a type and of its pointer. What an
// exported embedded field promotes is left to the line of that field.
func (d *description) methods(named *types.Named) {
	byValue := types.NewMethodSet(named)
	for sel := range types.NewMethodSet(types.NewPointer(named)).Methods() {
		m := sel.Obj().(*types.Func)
		if !m.Exported() || promotedByExported(named, sel.Index()) {
			continue
		}
		receiver := named.Obj().Name()
		if params := named.TypeParams(); params.Len() > 0 {
			var names []string
			for p := range params.TypeParams() {
				names = append(names, p.Obj().Name())
			}
			receiver += "[" + strings.Join(names, ", ") + "]"
		}
		if byValue.Lookup(m.Pkg(), m.Name()) == nil {
			receiver = "*" + receiver
		}
		d.add("func (%s) %s%s", receiver, m.Name(), d.signature(sel.Type().(*types.Signature)))
	}
}

// promotedByExported reports whether the way to a method, as a selection gives
// it, leads through exported embedded fields.
func promotedByExported(t types.Type, index []int) bool {
	for _, i := range index[:len(index)-1] {
		s, ok := deref(t).Underlying().(*types.Struct)
		if !ok || !s.Field(i).Exported() {
			return false
		}
		t = s.Field(i).Type()
	}
	return len(index) > 1
}

func deref(t types.Type) types.Type {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		return p.Elem()
	}
	return t
}
