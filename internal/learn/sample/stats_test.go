package sample

import (
	"reflect"
	"testing"
)

// Of samplers beside each other each count is added up, and each time is the longest: none is left out.
func TestStatsBeside(t *testing.T) {
	var few, many Stats
	for i := range reflect.TypeFor[Stats]().NumField() {
		for x, n := range map[*Stats]int{&few: 1 + i, &many: 100 + i} {
			if f := reflect.ValueOf(x).Elem().Field(i); f.CanInt() {
				f.SetInt(int64(n))
			} else {
				f.SetFloat(float64(n))
			}
		}
	}
	for _, all := range []Stats{few.Beside(many), many.Beside(few)} {
		v := reflect.ValueOf(all)
		for i := range v.NumField() {
			name, f := v.Type().Field(i).Name, v.Field(i)
			if f.CanInt() && f.Int() != int64(101+2*i) || f.CanFloat() && f.Float() != float64(100+i) {
				t.Errorf("%s is %v", name, f)
			}
		}
	}
}
