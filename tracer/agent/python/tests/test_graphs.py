"""Variables that keep autograd graphs, while their functions run."""

import time
import types
import unittest
import unittest.mock

import torch
from gpumem_agent.frameworks import torch as adapter
from gpumem_agent.frameworks import torch_blocks
from gpumem_agent.frameworks.torch_graphs import Graph
from gpumem_agent.holders import graphs
from gpumem_agent.holders.graphs import STEPS, Graphs
from gpumem_agent.surveys import Surveys

MIB = 1 << 20


class Unarmed:
    sites_wanted = False


def loss():
    return torch.operation("Mean", torch.operation("Linear", torch.empty(MIB)))


class RolesTest(unittest.TestCase):
    def test_a_search_that_ends_early_tells_the_types_of_what_it_found(self):
        parameters = [torch.nn.Parameter(torch.empty(512)) for _ in range(2 * torch_blocks.LOOKS)]
        roles = torch_blocks.Roles(adapter.open_framework(torch, Unarmed), 0)  # late at once
        self.assertFalse(roles.complete)
        found = roles.facts["parameter_dtypes"]["float32"]
        self.assertTrue(0 < found < 512 * len(parameters), found)


class Symbol:
    """What a compiler has in place of a number: to ask it is noted there as a fact."""

    asked = 0

    def __bool__(self):
        self.asked += 1
        return True


class TracedTest(unittest.TestCase):
    def test_tensors_that_a_compiler_traces_have_no_bytes_and_are_asked_nothing(self):
        tensor, symbol = torch.empty(512), Symbol()
        framework = adapter.open_framework(torch, Unarmed)
        self.assertEqual(framework.describe(tensor)[1], 512)
        self.assertEqual(torch_blocks.storage(torch, tensor)[1], 512)
        with unittest.mock.patch.object(tensor.untyped_storage(), "_size", symbol):
            self.assertIsNone(framework.describe(tensor))
            self.assertEqual(torch_blocks.storage(torch, tensor), (None, 0))
        self.assertEqual(symbol.asked, 0)


class GraphsTest(unittest.TestCase):
    def setUp(self):
        torch.empty(512)  # the device lives
        self.framework = adapter.open_framework(torch, Unarmed)
        self.graphs = Graphs()
        patient = unittest.mock.patch.object(graphs, "SECONDS", 60)  # on a busy machine
        patient.start()
        self.addCleanup(patient.stop)

    def look(self, step, explained=0):
        """What the end of a step does."""
        if self.graphs.again <= step:
            self.graphs.look([self.framework], (explained, 0))
        return self.graphs.told

    def test_a_running_total_keeps_the_graph_of_each_step(self):
        total = torch.operation("Clone", torch.empty(512))
        self.graphs.note([self.framework], 5)
        for step in range(6, 6 + STEPS):
            of_step = loss()
            total = torch.operation("Add", total, of_step)
            mean = torch.operation("Div", total)  # reaches back as far
            self.look(step)
        del of_step, mean
        (told,) = self.graphs.told
        path = "test_a_running_total_keeps_the_graph_of_each_step() local total"
        self.assertEqual(told["path"], path + ": autograd graph of Add outputs")
        self.assertEqual(told["count"], 1)
        kept = STEPS * MIB
        self.assertTrue(kept <= told["bytes"] < kept + 64 * 1024, told["bytes"])

    def test_a_loss_of_each_step_keeps_none(self):
        history, of_step = [], loss()
        self.graphs.note([self.framework], 5)
        for step in range(6, 7 + STEPS):
            of_step = loss()
            history.append(torch.empty(MIB))
        self.assertEqual(self.look(step), [])
        del history, of_step

    def test_an_output_that_stays_is_no_running_total(self):
        kept, history = loss(), []
        self.graphs.note([self.framework], 5)
        for step in range(6, 7 + STEPS):
            history.append(torch.empty(MIB))
        self.assertEqual(self.look(step), [])
        del kept, history

    def test_an_output_that_stays_since_the_last_note_is_none_either(self):
        kept, history = loss(), []
        self.graphs.note([self.framework], 5, heap=100 * MIB)
        kept = torch.operation("Add", kept, loss())
        self.graphs.note([self.framework], 15, heap=101 * MIB)
        history.append(torch.empty(MIB))
        self.graphs.look([self.framework], (0, 0), heap=103 * MIB)
        self.assertEqual(self.graphs.told, [])
        del kept, history

    def test_a_graph_is_not_charged_with_what_others_hold(self):
        total, history = loss(), []
        self.graphs.note([self.framework], 5)
        for step in range(6, 7 + STEPS):
            history.append(torch.empty(MIB))
            total = torch.operation("Add", total)
        self.assertEqual(self.look(step, explained=2 * len(history) * MIB), [])
        del total, history

    def test_a_graph_without_tensors_is_charged_with_the_heap(self):
        total = loss()
        self.graphs.note([self.framework], 5, heap=100 * MIB)
        for step in range(6, 6 + 3 * STEPS):
            total = torch.operation("Add", total)
            if step == 5 + 2 * STEPS:  # noted again, and asked some steps later
                self.graphs.note([self.framework], step, heap=101 * MIB)
        self.graphs.look([self.framework], (0, 0), heap=103 * MIB)
        (told,) = self.graphs.told
        path = "test_a_graph_without_tensors_is_charged_with_the_heap() local total"
        self.assertEqual(told["path"], path + ": autograd graph of Add outputs")
        self.assertEqual(told["bytes"], 3 * MIB)

    def test_a_graph_of_the_last_steps_is_not_charged_with_the_heap(self):
        outputs = [loss() for _ in range(2 * STEPS)]
        self.graphs.note([self.framework], 5, heap=100 * MIB)
        for step in range(6, 6 + 5 * STEPS):
            outputs = outputs[1:] + [loss()]
            window = outputs[0]
            for output in outputs[1:]:
                window = torch.operation("Add", window, output)
            if step in (5 + 2 * STEPS, 5 + 4 * STEPS):
                self.graphs.note([self.framework], step, heap=101 * MIB)
        self.graphs.look([self.framework], (9 * MIB, 0), heap=103 * MIB)
        self.assertEqual(self.graphs.told, [])

    def test_no_question_takes_longer_than_its_time(self):
        total = first = loss()
        for _ in range(50):
            total = torch.operation("Add", total)
        graph, number = Graph(total.grad_fn), first.grad_fn._sequence_nr()
        self.assertEqual(graph.oldest(number, time.thread_time() + 60), number)
        self.assertEqual(graph.oldest(number, time.thread_time() - 1), graph.number)

    def test_each_operation_is_asked_once_however_many_ways_lead_to_it(self):
        output = first = torch.operation("Linear", torch.empty(MIB))
        for _ in range(60):
            output = torch.operation("Add", output, output)  # as by a skip connection: 2**60 ways
        deadline = time.thread_time() + 5
        self.assertEqual(Graph(output.grad_fn).oldest(-1, deadline), first.grad_fn._sequence_nr())
        self.assertLess(time.thread_time(), deadline)

    def test_graphs_are_noted_with_each_look_and_asked_some_steps_later(self):
        process = types.SimpleNamespace(
            frameworks=[self.framework], sites_wanted=False, held=lambda: (None, None), idle=None, heap_now=lambda: None
        )
        surveys = Surveys()
        self.assertFalse(surveys.look_at_graphs(process, 4), "before the survey")
        surveys.take(process, process.frameworks)
        total = loss()
        looked = []
        for step in range(5, 40):
            total = torch.operation("Add", total, loss())
            if step == 25:
                surveys.look_now(process, time.monotonic() + 20)
            if surveys.look_at_graphs(process, step):
                looked.append(step)
        self.assertEqual(looked, [5 + STEPS, 25 + STEPS])
        (told,) = surveys.told
        self.assertIn(" local total: autograd graph of Add outputs", told["path"])


if __name__ == "__main__":
    unittest.main()
