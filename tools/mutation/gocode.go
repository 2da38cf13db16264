package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
)

// goFile finds the mutants of one Go file, and adds a switch for each.
type goFile struct {
	rewrite
	file  string // from the root of the module
	pkg   *goPackage
	base  *token.File
	where string            // the function of the current node
	skip  map[ast.Node]bool // the nodes that belong to the mutant of a larger node
}

func (f *goFile) offset(p token.Pos) int         { return f.base.Offset(p) }
func (f *goFile) span(n ast.Node) (pos, end int) { return f.offset(n.Pos()), f.offset(n.End()) }
func (f *goFile) source(n ast.Node) string {
	pos, end := f.span(n)
	return f.text[pos:end]
}

// mutate adds a mutant that replaces a node by text, and returns its number.
func (f *goFile) mutate(n ast.Node, operator, text string) int {
	pos, end := f.span(n)
	return f.pkg.add(newMutant(f.file, f.text, operator, f.where, edit{pos, end, text}))
}

// wrapNode puts text around a node.
func (f *goFile) wrapNode(n ast.Node, before, after string) {
	pos, end := f.span(n)
	f.wrap(pos, end, before, after)
}

// find finds all mutants of the file.
func (f *goFile) find(tree *ast.File) {
	for _, d := range tree.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Body == nil {
				continue
			}
			f.where = d.Name.Name
			ast.Inspect(d.Body, f.visit)
		case *ast.GenDecl:
			if d.Tok != token.VAR {
				continue
			}
			for _, s := range d.Specs {
				spec := s.(*ast.ValueSpec)
				f.where = spec.Names[0].Name
				for _, v := range spec.Values {
					ast.Inspect(v, f.visit)
				}
			}
		}
	}
}

// visit finds the mutants of a node.
func (f *goFile) visit(n ast.Node) bool {
	if n == nil || f.skip[n] {
		return false
	}
	switch n := n.(type) {
	case *ast.BlockStmt:
		f.statements(n.List)
	case *ast.CaseClause:
		f.statements(n.Body)
	case *ast.CommClause:
		f.statements(n.Body)
	case *ast.IfStmt:
		f.condition(n.Cond)
		if only := soleDrop(n.Body); only != nil && n.Else == nil {
			f.pkg.sole[only] = true // the same mutant as dropping the whole statement
		}
	case *ast.ForStmt:
		if n.Cond != nil {
			f.condition(n.Cond)
		}
	case *ast.SwitchStmt:
		if n.Tag == nil {
			for _, c := range n.Body.List {
				for _, cond := range c.(*ast.CaseClause).List {
					f.condition(cond)
				}
			}
		}
	case *ast.GenDecl:
		return n.Tok == token.VAR // the rule changes a constant where the code uses it
	case *ast.ArrayType:
		return false
	case ast.Expr:
		return f.expression(n)
	}
	return true
}

// soleDrop is the only statement of a block, if a rule can drop it.
func soleDrop(b *ast.BlockStmt) ast.Stmt {
	if len(b.List) == 1 && droppable(b.List[0]) {
		return b.List[0]
	}
	return nil
}

// droppable reports whether a function compiles without the statement.
func droppable(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.ExprStmt:
		call, ok := s.X.(*ast.CallExpr)
		if !ok {
			return true
		}
		name, ok := call.Fun.(*ast.Ident)
		return !ok || name.Name != "panic"
	case *ast.AssignStmt:
		return s.Tok != token.DEFINE
	case *ast.IncDecStmt, *ast.SendStmt, *ast.GoStmt:
		return true
	case *ast.BranchStmt:
		return s.Tok == token.CONTINUE || s.Tok == token.BREAK
	case *ast.ReturnStmt:
		return len(s.Results) == 0
	case *ast.IfStmt:
		return s.Else == nil
	}
	return false
}

// statements finds the statements that a rule can drop.
func (f *goFile) statements(list []ast.Stmt) {
	for _, s := range list {
		operator := "drop"
		if _, ok := s.(*ast.DeferStmt); ok {
			operator = "drop-defer"
		} else if !droppable(s) || f.pkg.sole[s] {
			continue
		}
		n := f.mutate(s, operator, "")
		f.wrapNode(s, fmt.Sprintf("if !schemata.On(%d) { ", n), " }")
	}
}

// condition finds the mutants of the condition of a branch, and of its operands.
func (f *goFile) condition(e ast.Expr) {
	if f.skip[e] || f.pkg.info.Types[e].Value != nil {
		return
	}
	switch e := e.(type) {
	case *ast.ParenExpr:
		f.condition(e.X)
		return
	case *ast.BinaryExpr:
		if e.Op == token.LAND || e.Op == token.LOR {
			f.condition(e.X)
			f.condition(e.Y)
			return
		}
	}
	if f.pkg.conditions[e] {
		return
	}
	f.pkg.conditions[e] = true
	n := f.mutate(e, "negate", f.negated(e))
	f.wrapNode(e, "((", fmt.Sprintf(") != schemata.On(%d))", n))
}

var opposites = map[token.Token]token.Token{
	token.EQL: token.NEQ, token.NEQ: token.EQL,
	token.LSS: token.GEQ, token.GEQ: token.LSS, token.GTR: token.LEQ, token.LEQ: token.GTR,
}

// negated is the text of a negated condition.
func (f *goFile) negated(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.UnaryExpr:
		if e.Op == token.NOT {
			return f.source(e.X)
		}
	case *ast.BinaryExpr:
		if op, ok := opposites[e.Op]; ok {
			return f.withOperator(e, op)
		}
		return "!(" + f.source(e) + ")"
	}
	return "!" + f.source(e)
}

func (f *goFile) withOperator(e *ast.BinaryExpr, op token.Token) string {
	pos, end := f.span(e)
	at := f.offset(e.OpPos)
	return f.text[pos:at] + op.String() + f.text[at+len(e.Op.String()):end]
}

// boundaries are the comparisons of order, with the shifted boundary of each.
var boundaries = map[token.Token]struct {
	shifted token.Token
	call    string
}{
	token.LSS: {token.LEQ, "Less"}, token.LEQ: {token.LSS, "LessOrEqual"},
	token.GTR: {token.GEQ, "Greater"}, token.GEQ: {token.GTR, "GreaterOrEqual"},
}

// expression finds the mutants of an expression.
func (f *goFile) expression(e ast.Expr) bool {
	value := f.pkg.info.Types[e]
	if value.IsType() {
		return false
	}
	if value.Value != nil {
		f.constant(e, value)
		return false
	}
	switch e := e.(type) {
	case *ast.Ident:
		f.script(e)
	case *ast.SelectorExpr:
		ast.Inspect(e.X, f.visit) // the name after the dot is no expression
		return false
	case *ast.KeyValueExpr:
		ast.Inspect(e.Value, f.visit)
		if _, name := e.Key.(*ast.Ident); !name {
			ast.Inspect(e.Key, f.visit)
		}
		return false
	case *ast.BinaryExpr:
		f.binary(e)
	}
	return true
}

// binary finds the mutants of a comparison, and of a duration that is a multiple
// or a fraction of another.
func (f *goFile) binary(e *ast.BinaryExpr) {
	switch e.Op {
	case token.LAND, token.LOR:
		f.condition(e)
		return
	case token.MUL, token.QUO:
		if !f.isDuration(e) {
			return
		}
		for _, operand := range []ast.Expr{e.X, e.Y} {
			if f.pkg.info.Types[operand].Value != nil {
				f.scale(e)
				f.skip[operand] = true // it would be the same mutant
				return
			}
		}
		return
	}
	if _, comparison := opposites[e.Op]; !comparison {
		return
	}
	f.condition(e)
	shift, ok := boundaries[e.Op]
	if !ok {
		return
	}
	n := f.mutate(e, "boundary", f.withOperator(e, shift.shifted))
	f.wrapNode(e, fmt.Sprintf("schemata.%s(%d, ", shift.call, n), ")")
	at := f.offset(e.OpPos)
	f.replace(at, at+len(e.Op.String()), ",")
}

func (f *goFile) isDuration(e ast.Expr) bool { return isDuration(f.pkg.info.Types[e].Type) }

func isDuration(t types.Type) bool { return t != nil && t.String() == "time.Duration" }

// scale makes an expression ten times as long, and a tenth.
func (f *goFile) scale(e ast.Expr) {
	text := f.source(e)
	if _, binary := e.(*ast.BinaryExpr); binary {
		text = "(" + text + ")"
	}
	n := f.mutate(e, "tenfold", "10*"+text)
	f.wrapNode(e, fmt.Sprintf("schemata.Tenfold(%d, ", n), ")")
	n = f.mutate(e, "tenth", text+"/10")
	f.wrapNode(e, fmt.Sprintf("schemata.Tenth(%d, ", n), ")")
}

// constant finds the mutants of a constant expression that is not part of a
// larger one.
func (f *goFile) constant(e ast.Expr, value types.TypeAndValue) {
	switch {
	case isDuration(value.Type):
		f.constantDuration(e)
	case value.Value.Kind() == constant.Bool:
		changed := "true"
		if constant.BoolVal(value.Value) {
			changed = "false"
		}
		n := f.mutate(e, "constant", changed)
		f.wrapNode(e, "(", fmt.Sprintf(" != schemata.On(%d))", n))
	case value.Value.Kind() == constant.Int:
		f.constantInteger(e, value)
	}
}

// constantDuration scales a duration. It changes a constant of the package in its
// declaration, and so in all of its uses.
func (f *goFile) constantDuration(e ast.Expr) {
	if bare(e) {
		return // 0, or nanoseconds
	}
	if d := f.pkg.declared(e); d != nil {
		d.find(f.pkg)
		for i, call := range []string{"Tenfold", "Tenth"} {
			f.wrapNode(e, fmt.Sprintf("schemata.%s(%d, ", call, d.numbers[i]), ")")
		}
		return
	}
	f.scale(e)
	ast.Inspect(e, func(n ast.Node) bool { // it contains a declared one
		if x, ok := n.(*ast.Ident); ok && f.pkg.declared(x) != nil && isDuration(f.pkg.info.Types[x].Type) {
			f.constantDuration(x)
		}
		return true
	})
}

// bare reports whether an expression is a number without a unit.
func bare(e ast.Expr) bool {
	if minus, ok := e.(*ast.UnaryExpr); ok {
		e = minus.X
	}
	_, ok := e.(*ast.BasicLit)
	return ok
}

// constantInteger adds one to a whole number, if the type of the result has a
// name.
func (f *goFile) constantInteger(e ast.Expr, value types.TypeAndValue) {
	basic, ok := value.Type.(*types.Basic)
	if !ok || basic.Info()&types.IsInteger == 0 || basic.Info()&types.IsUntyped != 0 {
		return
	}
	call := func(n int) { f.wrapNode(e, fmt.Sprintf("schemata.Next[%s](%d, ", basic.Name(), n), ")") }
	if d := f.pkg.declared(e); d != nil {
		d.find(f.pkg)
		call(d.numbers[0])
		return
	}
	next := constant.BinaryOp(value.Value, token.ADD, constant.MakeInt64(1))
	call(f.mutate(e, "constant", next.ExactString()))
}

// script inserts the switches of the scripts: where the code uses a script's
// text, and where it uses a value made from it.
func (f *goFile) script(name *ast.Ident) {
	object := f.pkg.info.Uses[name]
	if s := f.pkg.scripts[object]; s != nil {
		f.wrapNode(name, "schemata.Text(", fmt.Sprintf(", %s)", s.table()))
		return
	}
	for _, s := range f.pkg.made[object] {
		if len(s.mutants) > 0 {
			f.wrapNode(name, fmt.Sprintf("schemata.Use(%d, %d, ", s.mutants[0].number, s.mutants[len(s.mutants)-1].number), ")")
		}
	}
}
