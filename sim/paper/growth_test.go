package paper

import "testing"

// Nobody has more than one partition above the mean, so that few nodes share evenly
// and many do not.
func TestSharesAreEvenWherePartitionsAreMany(t *testing.T) {
	if s := spread(1, 80, 256); s.parts != 4/3.2 || s.none != 0 {
		t.Errorf("80 nodes, 256 partitions: %+v", s)
	}
	if s := spread(1, 100, 4096); s.parts > 1.01 || s.hosts < s.parts || s.pages < s.hosts {
		t.Errorf("100 nodes, 4096 partitions: %+v", s)
	}
	if s := spread(1, 300, 256); s.none < 0.14 {
		t.Errorf("300 nodes, 256 partitions: %+v", s)
	}
}

func TestMembersAreMeasured(t *testing.T) {
	r := newRecord(0.01, 1)
	var f Finding
	judgeGrowth(&r, &f)
	for what, v := range verdicts(&f) {
		if v != Met {
			t.Errorf("%s: %s", what, v)
		}
	}
	if rows := f.Plates[0].Table.Rows; len(rows) != 4 {
		t.Errorf("a table of %v", rows)
	}
}
