"""Who holds what: the search for the names behind arrays and containers.

It answers one question: of what was made late and still lives, which of the
program's names keeps it alive? A name is a module's variable, a class, a closure
or a variable of a function that runs. The words, as they are used here:

  array      what a framework describes (a tensor, an ndarray); it has a storage.
  container  a list, dictionary, set or deque; large from living.LARGE elements.
  weighty    said of a container whose few new elements take a lot of memory.
  survey     taken once, when the program is under way or marks its baseline.
  register   what lived at one moment, such as the survey's: identities and weak
             references, so that it keeps nothing alive.
  late       made after the moment of the register.
  look       a search while the program runs; what it reached serves as a register
             for the next one.
  recount    how long a holder's container has become since the look that told it.
  atomic     between two bytecodes of the interpreter, so that nobody notices.
  reach      what the names lead to, downward.
  climb      from an object to what refers to it, upward, until there is a name.
  path       the way from a name to an object, in words: `list train.history`.
  graph      of autograd: it keeps arrays where the collector sees nothing.
  census     how many objects of each class there are.
  gone       a holder that was told before and is not there at the end.

The modules, each importing only those above it:

  capsules   what exports of arrays keep
  kinds      questions to objects that run no code of the program's
  hostarrays what arrays take of the host that nobody tells as arrays
  texts      searches in the text of source files
  calls      which calls of the program's lead to where a library fills its own
  memos      whether a line that fills a dictionary makes it a cache
  lines      which lines of the program fill a container
  states     whether a line puts a whole state into a container
  logged     which lines fill what keeps records of a log
  living     which arrays and large containers live now
  paths      chains of references in words
  variables  what the functions that run hold, read without an effect on them
  downward   what the program's names reach, in one atomic look
  upward     referrers, level by level, of a program that stands still
  register   what lived at one moment
  contents   what the elements of a container take beyond themselves
  siblings   which dictionaries are told in place of their entries
  rings      by which attributes objects lead back to themselves
  naming     from arrays and paths to holders with bytes and counts
  growing    what grows by itself: buffers, a pickler's memo, a database in memory
  cycles     what itertools.cycle keeps, and where it is drawn from
  tees       the branch of a tee that is read behind the others
  classes    the class that gained objects, where no container did
  opaque     containers of objects whose bytes are C++'s or Rust's
  graphs     which variable keeps an autograd graph that grows
  behind     which other name does
  nesting    which containers have the others that gained
  recounts   how long the containers of holders have become since a look
  lasting    which holders that a look found are told
  running    the look while the program runs
  holding    who holds some arrays now, whatever their age
  ending     the search at its end

`surveys`, one folder up, says when to look; `atomic` there is how. What only one
framework does stands under `frameworks`. Imports inside functions are for what
most programs never need; they close no circle, and a test looks at that.
"""
