package report
import ("testing";"fmt")
func TestLook(t *testing.T){ fmt.Println(render(t,Text,leakRun(1200),leakVerdict(),Options{Color:false})); fmt.Println(render(t,Text,retentionRun(),retentionVerdict(),Options{})); fmt.Println(render(t,Text,nil,undecidedVerdict(),Options{}))}
