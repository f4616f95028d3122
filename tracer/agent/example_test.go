package agent_test

import (
	"fmt"
	"log"
	"os"
	"sync"

	"github.com/gpumem/gpumem/tracer/agent"
	"github.com/gpumem/gpumem/tracer/record"
)

// A program tells its live bytes and its steps. Without a tracer Connect returns a
// nil client, of which every method does nothing.
func ExampleConnect() {
	os.Unsetenv(agent.EnvSocket) // nobody traces this example
	var live int64
	client, err := agent.Connect(agent.Hello{Device: "my device"}, func(cells []record.Cell) []record.Cell {
		return append(cells, record.Cell{Column: record.ColLive, Value: live})
	})
	if err != nil {
		log.Print(err) // the program runs on
	}
	defer client.Close()
	for step := range int64(3) {
		live += 4096
		client.Step(step)
	}
	fmt.Println(client == nil, client.Dropped())
	// Output: true 0
}

// listener is the tracer's end: it prints the phases that programs tell.
type listener struct{ gone sync.WaitGroup }

func (l *listener) Message(_ *agent.Conn, m *agent.Message) {
	if m.Mark != nil && m.Mark.Kind == record.KindPhase {
		fmt.Println(m.Mark.Name)
	}
}

func (l *listener) Gone(*agent.Conn, error) { l.gone.Done() }
func (l *listener) Refused(err error)       { fmt.Println(err) }

// A tracer listens; the program finds its socket in the environment.
func ExampleListen() {
	heard := &listener{}
	heard.gone.Add(1)
	server, err := agent.Listen(heard, 0)
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	os.Setenv(agent.EnvSocket, server.Path())
	defer os.Unsetenv(agent.EnvSocket)
	program, err := agent.Connect(agent.Hello{}, nil)
	if err != nil {
		log.Fatal(err)
	}
	program.Phase("loading")
	program.Close()
	heard.gone.Wait()
	// Output:
	// loading
	// exiting
}
