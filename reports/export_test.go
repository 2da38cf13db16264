package reports

var (
	Choose  = choose
	CellsOf = cellsOf
)
