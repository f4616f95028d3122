package report

// The words that stay in a redacted run. They are public: the vocabulary of
// this project, units, makers and models of GPUs, frameworks, and the plain
// words of warnings and of phases of training. A word that is missing here is
// only replaced for no need; a word too many could name somebody.
const (
	publicWords = `
a about above account accounts across after again agent all allocate allocated allocation allocations
allocator allocs amount an and another answer anything are as ask asked at attach autograd bad base baseline
batch be because been before began beginning begins below beyond block_sites both broken buffer buffers but by bytes
cache cached caching call came can cannot capture cause cell cells change changed child class classes clock closed code
collect column columns command commands compile compiled compiling context contexts could count counted
counter counters create created cut cycle data dead decode denied denies did directory do does done driver
driver_sites dropped each eager empty end ended ends environment epoch epochs error eval evaluate evaluation
event events exists exit exiting experiment failed failure far few file files first first_touch fit for
forward found free freed frees from full function gave given goes gone graph graphs growth grows had handle
handles has have header held here heap hold holder holders holds host host_sites idle ignored in init initial
initialise initialize input inside instead interval into invalid is it its kept kernel kernels kind known
last late later least left left_behind length less limit line lines list live load loading log long lost made many mark
marks measured memory middle missed missing mixed more most much name named names native neither never new next no
nobody none not nothing number object objects of off on one only open operation optimizer or order other out
outputs over page pages paths parameter parameters part path peak permission phase phases pid pipe pool
pools position process processes profile program purge queue queues rather read reader reading receipt reference
receipts received record recorded recording refs refused released repeat repeats replaced report request
reset restored returned row rows run running runs same sample samples sampled second seconds shape shapes
short signal sites size sizes skipped smaller so some start started starts statement statements step steps
stop stopped store stream streams such sync taken takes than that the their them then there these they this
through time times timestamp to too took total touched trace traced tracer train training trim twice type
undecided unexpected unit unknown until untracked up usage used user valid validate validation value values
version wait waited waiting was wait warm warmup warning were what when where which while whole who whose
why with within without word wrong write writing written churn backward loss scope graphs kb mb gb tb kib
mib gib tib ms us ns min hours minutes pct percent json csv gpu cpu rss pss ram vram cuda hip rocm metal
opencl vulkan nvml drm kfd proc go eof utf csv html killed terminated interrupt hangup aborted abort quit
segmentation fault bus sigkill sigterm sigint sighup sigabrt sigsegv sigbus int float tensor unpooled none
true false yes no auto null`

	// Keys of what events tell in detail. The columns stand in package record.
	publicKeys = `
rss_delta_bytes clones references max_idle hits misses claimed_bytes returned_bytes samples events run state
optim serialization reserved unallocated tried capacity including use allowed allow nn modules adam adamw
allocator_peak_bytes asked_bytes autograd bfloat16 boundaries bytes capacity_bytes categories composition
cost_us count cuda device died events exceptions expandable float16 float32 frames framework free_bytes
freed from_step gone grad_enabled gradients graph holders idle_bytes incomplete kind large largest_bytes
left_out_bytes limit_bytes live live_bytes model name off_us on_us oom oom_others optimizer optimizers
other_thread outofmemoryerror overflowed own pack_us page_bytes parameter_bytes parameter_dtypes part parts
path peak_bytes pid pools private processes reserved_bytes roles segments settings sgd site small stack
stacks state_bytes steps steps_us still stream tensors text training usual_us whole_bytes window
with_state_bytes work age_us alone arrays calls calls_off category compile computed module owners scan_us
share snapshot_us yet ago_ms generations passes joined earlier_bytes output_bytes inputs holder filled length
beside uses mappings mappings_limit addresses
addresses_limit`

	publicNames = `
linux darwin windows macos amd64 arm64 x86_64 aarch64 ubuntu debian nvidia amd intel apple geforce rtx gtx
titan tesla quadro radeon instinct arc graphics pro max ultra super laptop pcie sxm nvl hbm ada soft mps ten
digits stand device devices unified dedicated cgroup gpumem python python3 py cpython torch pytorch cupy jax
jaxlib xla numpy tensorflow triton mlx rmm tl mem smi snapshot importer devel seed policy purge steps per
leftover c cc cpp cxx cu cuh h hpp rs ts js pyx pyi so dll dylib usr lib lib64 bin site packages dist home
opt list dict set tuple frame frames local locals global globals module closure lambda self __init__
__main__ __call__ main key deque __traceback__ __context__ __defaults__ default __dict__ _backward_hooks →`

	publicLibraries = `
libcuda libcudadebugger libcudart libnvidia libGLX_nvidia libEGL_nvidia libnvcuvid libamdhip64 libhsa
runtime runtime64 libamdocl libamdocl64 libdrm libdrm_amdgpu libdrm_radeon libdrm_intel libdrm_nouveau
libze_loader libze_intel_gpu libze_intel_gpu_legacy1 libze_intel_npu libze_tracing_layer
libze_validation_layer libigdrcl libigdgmm libvulkan_radeon libvulkan_intel libvulkan_intel_hasvk
libvulkan_lvp libvulkan_nouveau libvulkan_asahi libvulkan_freedreno libvulkan_panfrost libvulkan_broadcom
libvulkan_virtio libc libm libpthread libstdc libgcc_s ld libtorch libtorch_cuda libtorch_cpu libc10
libc10_cuda libcublas libcublasLt libcudnn libnccl libcufft libpython3 vdso heap stack anonymous generated`
)
