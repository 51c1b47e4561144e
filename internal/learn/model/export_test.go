package model

// What tests outside of the package look into.
var (
	Attend        = attend
	AttendSampled = attendInSampling
	RowsOf        = rowsOf
)
