package report

// UnitLast is unitLast.
var UnitLast = unitLast
