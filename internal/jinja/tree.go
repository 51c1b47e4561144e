package jinja

import "hone/internal/jinja/pyvalue"

// expression is a node of the tree that the parser makes. compile returns what gives its value.
type expression interface{ compile(c *compiler) code }

type (
	constant         struct{ value value }
	bodyExpression   struct{} // the text of the block that a filter follows
	tupleExpression  struct{ items []expression }
	listExpression   struct{ items []expression }
	concatExpression struct{ parts []expression }
	notExpression    struct{ operand expression }
	andExpression    struct{ left, right expression }
	orExpression     struct{ left, right expression }
	nameExpression   struct {
		id   int
		name string
		at   int
	}
	namespaceExpression struct { // ns.x on the left of =
		id        int
		attribute string
		at        int
	}
	dictExpression struct {
		keys, values []expression
		at           int
	}
	attributeExpression struct {
		object expression
		name   string
		at     int
		member bool               // of a dict, the name is a member's and nothing else
		absent *pyvalue.Undefined // what a dict without that member gives
	}
	itemExpression struct {
		object, item expression
		at           int
	}
	sliceExpression struct {
		object expression
		bounds [3]expression // each may be nil
		at     int
	}
	callExpression struct {
		function  expression
		arguments arguments
		at        int
	}
	filterExpression struct {
		base      expression
		name      string
		run       filter // nil if it does not exist
		write     writer // of those that make text
		arguments arguments
		at        int
	}
	testExpression struct {
		base      expression
		name      string
		run       test // nil if it does not exist
		arguments arguments
		at        int
	}
	conditionalExpression struct{ test, then, otherwise expression } // otherwise may be nil
	signExpression        struct {
		sign    string
		operand expression
		at      int
	}
	binaryExpression struct {
		operator    string
		left, right expression
		at          int
	}
	comparison struct {
		operator string
		right    expression
		at       int
	}
	compareExpression struct {
		first expression
		links []comparison
	}
	arguments struct {
		positional []expression
		names      []string
		named      []expression
		list, dict expression // of * and **, or nil
	}
)

// statement is a node of the tree that the parser makes. compile returns what runs it.
type statement interface{ compile(c *compiler) action }

type (
	textStatement  string
	loopStatement  string // "break" or "continue"
	printStatement struct{ values []expression }

	ifStatement struct {
		tests     []expression
		bodies    [][]statement
		otherwise []statement
	}
	forStatement struct {
		target, sequence, test expression // test may be nil
		body, otherwise        []statement
		recursive              bool
		loop                   int
		at                     int
	}
	setStatement struct {
		target, value expression
		at            int
	}
	setBlockStatement struct {
		target, filter expression // filter may be nil
		body           []statement
		at             int
	}
	parameter struct {
		name  string
		id    int
		value expression // nil without a default
	}
	macroStatement struct {
		name                                string
		id                                  int
		parameters                          []parameter
		body                                []statement
		usesCaller, usesVarargs, usesKwargs bool
		caller, varargs, kwargs             int
		at                                  int
	}
	callStatement struct {
		call *callExpression
		body *macroStatement
	}
	filterStatement struct {
		filter expression
		body   []statement
	}
	withStatement struct {
		targets, values []expression
		body            []statement
		at              []int
	}
	generationStatement struct {
		body []statement
		at   int
	}
)
