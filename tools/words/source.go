package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// source is the prose for users in a Go file: help texts, and the strings of
// errors and hints. It leaves out the indented lines of a help text. The error
// means that the file does not parse.
func source(name string, src []byte) ([]prose, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, src, 0)
	if err != nil {
		return nil, err
	}
	var all []prose
	ast.Inspect(file, func(n ast.Node) bool {
		for _, e := range expressions(n) {
			s, ok := literal(e)
			if !ok {
				continue
			}
			line := set.Position(e.Pos()).Line
			for _, part := range strings.Split(strings.ReplaceAll(s, "\nhint:", "\n\n"), "\n\n") {
				all = append(all, prose{line, flat(part)})
				line += strings.Count(part, "\n") + 2
			}
		}
		return true
	})
	return all, nil
}

// flat removes indented lines.
func flat(part string) string {
	lines := slices.DeleteFunc(strings.Split(part, "\n"), func(l string) bool { return strings.HasPrefix(l, " ") })
	return strings.Join(lines, " ")
}

// expressions are the expressions of a node that contain text for users.
func expressions(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.KeyValueExpr:
		if key, ok := n.Key.(*ast.Ident); ok && slices.Contains([]string{"Short", "Long", "Hint"}, key.Name) {
			return []ast.Expr{n.Value}
		}
	case *ast.CallExpr:
		switch f := n.Fun.(type) {
		case *ast.Ident:
			if slices.Contains([]string{"usage", "badInput", "badOut", "defect"}, f.Name) {
				return n.Args
			}
		case *ast.SelectorExpr:
			if x, ok := f.X.(*ast.Ident); ok && (x.Name == "errors" && f.Sel.Name == "New" || x.Name == "fmt" && f.Sel.Name == "Errorf") {
				return n.Args[:1]
			}
			if x, ok := f.X.(*ast.CallExpr); ok && len(n.Args) > 2 { // c.Flags().StringVar(...)
				if flags, ok := x.Fun.(*ast.SelectorExpr); ok && flags.Sel.Name == "Flags" {
					return n.Args[len(n.Args)-1:]
				}
			}
		}
	}
	return nil
}

// literal is the text of a string, or of several that are joined. A part that
// is not constant counts as one word.
func literal(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		return s, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		left, l := literal(e.X)
		right, r := literal(e.Y)
		if !l {
			left = "X"
		}
		if !r {
			right = "X"
		}
		return left + right, l || r
	}
	return "", false
}
