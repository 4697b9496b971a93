"""Names of other libraries for what is in plait's modules below plait itself: those that are not there under this name, and what to use instead."""

INIT = {
    "orthogonal_": "plait.nn.init.orthogonal(shape), which returns a tensor",
    **{f"{name}_": f"plait.nn.init.{name}(shape), which returns a tensor" for name in (
        "uniform", "normal", "constant", "ones", "zeros", "eye", "dirac", "xavier_uniform", "xavier_normal", "kaiming_uniform", "kaiming_normal",
        "trunc_normal", "sparse")},
    **{f"glorot_{kind}": f"plait.nn.init.xavier_{kind}(shape)" for kind in ("uniform", "normal")},
    **{f"he_{kind}": f"plait.nn.init.kaiming_{kind}(shape)" for kind in ("uniform", "normal")},
}
OF_PARAMETRIZATIONS = "plait.nn.weight_norm, plait.nn.spectral_norm, plait.nn.orthogonal, plait.nn.parametrize"
UTILS = {
    "clip_grad_norm_": "gradient, norm = plait.optim.clip_grad_norm(gradient, max_norm)", "get_total_norm": "plait.optim.get_total_norm(gradient)",
    "clip_grad_norm": "gradient, norm = plait.optim.clip_grad_norm(gradient, max_norm)",
    "clip_grad_value_": "gradient = plait.optim.clip_grad_value(gradient, clip_value)",
    "clip_grads_with_norm_": "gradient, norm = plait.optim.clip_grad_norm(gradient, max_norm)",
    "weight_norm": "plait.nn.weight_norm(model)", "spectral_norm": "plait.nn.spectral_norm(model)", "orthogonal": "plait.nn.orthogonal(model)",
    **dict.fromkeys(("parametrizations", "parametrize"), OF_PARAMETRIZATIONS),
    **dict.fromkeys(("remove_weight_norm", "remove_spectral_norm", "remove_parametrizations"), "model = plait.nn.remove_parametrizations(model)"),
    **dict.fromkeys(("fuse_conv_bn_weights", "fuse_linear_bn_weights"), "plait.nn.utils.fuse_conv_bn_eval(conv, bn), which takes the layers"),
    "rnn": "plait.nn.LSTM(…)(x, lengths=lengths)", "skip_init": "not needed: plait.nn.load_state(model, state) replaces the weights",
    "stateless": "model(x): the model has its weights, and plait.nn.load_state(model, state) gives it others",
    **dict.fromkeys(("convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"), "not needed: the compiler chooses layouts"),
}
PRUNE = {
    "L1Unstructured": "plait.nn.utils.prune.l1_unstructured", "RandomUnstructured": "plait.nn.utils.prune.random_unstructured",
    "LnStructured": "plait.nn.utils.prune.ln_structured", "RandomStructured": "plait.nn.utils.prune.random_structured",
    "Identity": "plait.nn.utils.prune.identity", "CustomFromMask": "plait.nn.utils.prune.custom_from_mask",
    "BasePruningMethod": "plait.nn.utils.prune.custom_from_mask(model, name, mask), of a mask that you compute",
    "PruningContainer": "not needed: a weight that is pruned again keeps its mask",
}
OPTIM = {
    "Adma": "plait.optim.Adam", "SWA": "plait.optim.AveragedModel",
    **dict.fromkeys(("inject_hyperparams", "inject_stateful_hyperparams"), "not needed: numbers are tensors of the transformation, and schedules stand for any "
                    "of them: optimizer.transformation.learning_rate = 0.1"),
    **dict.fromkeys(("softmax_cross_entropy", "softmax_cross_entropy_with_integer_labels", "safe_softmax_cross_entropy"), "plait.cross_entropy(logits, target)"),
    "sigmoid_binary_cross_entropy": "plait.binary_cross_entropy_with_logits(logits, target)", "ntxent": "plait.nn.nt_xent",
    **dict.fromkeys(("l2_loss", "squared_error"), "plait.mse_loss(x, y)"), "cosine_distance": "1 - plait.cosine_similarity(x, y)",
    "kl_divergence": "plait.kl_div_loss(log_predictions, targets)", "microbatch": "plait.optim.microbatches", "init_empty_state": "plait.optim.identity().init",
    "with_extra_args_support": "not needed: a transformation takes further arguments",
    "hvp": "plait.hvp(f, primals, tangents)", "matrix_inverse_pth_root": "plait.linalg.eigh(matrix), and powers of the eigenvalues",
    "Gumbel": "plait.optim.make_perturbed_fun(f, noise='gumbel')", "Normal": "plait.optim.make_perturbed_fun(f, noise='normal')",
    "perturbations": "plait.optim.make_perturbed_fun", "assignment": "plait.optim.hungarian_algorithm", "base_hungarian_algorithm": "plait.optim.hungarian_algorithm",
    "second_order": "plait.optim.hessian_diag, plait.optim.fisher_diag, plait.hvp", "projections": "plait.optim.projection_simplex and others",
    "TransformInitFn": "plait.optim.GradientTransformation(init, update)", "GradientTransformationExtraArgs": "plait.optim.GradientTransformation(init, update)",
    "GradScaler": "plait.optim.Optimizer(plait.optim.loss_scale(plait.optim.adamw(1e-3)), model); plait.autocast() in bf16 needs no scaling",
    "update_bn": "calls of the averaged model in training mode, on batches, change its running statistics: "
                 "_, model = plait.nn.call(average.model, x)",
    "adamW": "plait.optim.adamw(1e-3) is the transformation, plait.optim.AdamW(model) the optimizer", "Adamw": "plait.optim.AdamW(model)",
    "swa_utils": "average = plait.optim.AveragedModel(model), or plait.optim.EMA(model, decay); average = average.update(model); average.model",
    **dict.fromkeys(("get_ema_multi_avg_fn", "get_ema_avg_fn"), "ema = plait.optim.EMA(model, decay); ema = ema.update(model); ema.model"),
    **dict.fromkeys(("get_swa_multi_avg_fn", "get_swa_avg_fn"), "average = plait.optim.AveragedModel(model); average = average.update(model)"),
    "SWALR": "plait.optim.lr_scheduler.SWALR",
    "MultiOptimizer": "plait.optim.Optimizer(plait.optim.partition(…), model): a transformation for each label",
    "clip_grad_norm_": "gradient, norm = plait.optim.clip_grad_norm(gradient, max_norm)",
    "clip_grad_value_": "gradient = plait.optim.clip_grad_value(gradient, clip_value)",
}
METRICS = {
    "F1Score": "plait.metrics.F1", "FBetaScore": "plait.metrics.F1", "MeanMetric": "plait.metrics.Mean", "SumMetric": "plait.metrics.Sum",
    "MeanSquaredError": "plait.metrics.MSE", "MeanAbsoluteError": "plait.metrics.MAE", "R2Score": "plait.metrics.R2",
    "MetricCollection": "plait.metrics.Collection", "ROCAUC": "plait.metrics.AUROC",
}
IO = {
    "load": "plait.io.load_safetensors(path), or load_npy, load_npz, load_idx, load_gguf", "load_file": "plait.io.load_safetensors(path)",
    "save": "plait.io.save_safetensors(path, plait.nn.state(model)), or save_npy, save_npz",
    "save_file": "plait.io.save_safetensors(path, tensors)", "savez": "plait.io.save_npz(path, {'x': x})",
    "save_model": "plait.io.save_safetensors(path, plait.nn.state(model))", "savez_compressed": "plait.io.save_npz(path, {'x': x}, compressed=True)",
    "load_model": "plait.nn.load_state(model, plait.io.load_safetensors(path))", "safe_open": "plait.io.open_safetensors(path)",
    "GGUFReader": "plait.io.open_gguf(path)", "load_dataset": "plait.io.load_idx(path) reads MNIST's files",
    "decode_jpeg": "plait.io.decode_image(data)", "decode_png": "plait.io.decode_image(data)", "decode_webp": "plait.io.decode_image(data)",
    "imread": "plait.io.read_image(path)", "imwrite": "plait.io.write_image(path, image)", "write_jpeg": "plait.io.write_image(path, image)",
    "write_png": "plait.io.write_image(path, image)",
    "SummaryWriter": "plait.io.EventLog(folder), with its methods",
    "write_csv": "plait.io.CsvLog(path).log(step, values) writes rows", "write_jsonl": "plait.io.JsonlLog(path).log(step, values) writes rows",
}
DATA = {
    **dict.fromkeys(("MNIST", "FashionMNIST", "KMNIST", "EMNIST", "QMNIST"), "plait.data.idx_dataset(images, labels), of their files"),
    "DatasetFolder": "plait.data.ImageFolder(root), or a class with __len__ and __getitem__",
    "StatefulDataLoader": "plait.data.DataLoader, which has state_dict() and load_state_dict(state)",
    "StatefulDistributedSampler": "plait.data.DataLoader(dataset, rank=0, world_size=4)",
    "get_worker_info": "not needed: an iterable dataset is read by one worker, and a sample's draws come from its key: get(self, index, key)",
    **dict.fromkeys(("map", "Mapper"), "plait.data.mapped(dataset, function)"),
    "IterDataPipe": "plait.data.IterableDataset", "MapDataPipe": "plait.data.Dataset", "v2": "plait.data.transforms",
}
TRANSFORMS = {
    "v2": "plait.data.transforms itself", "PILToTensor": "plait.data.transforms.ToImage()",
    "ConvertImageDtype": "plait.data.transforms.ToDtype('f32', scale=True)", "ToPILImage": "PIL.Image.fromarray(image.permute(1, 2, 0).numpy())",
    "ToPureTensor": "not needed: images are tensors", "Identity": "plait.data.transforms.Lambda(lambda image: image)",
    "GaussianNoise": "a function of an image and a key: image + sigma * plait.random.normal(key, image.shape)",
}
TEXT = {
    **dict.fromkeys(("AutoTokenizer", "PreTrainedTokenizerFast"), "plait.text.Tokenizer.from_pretrained(folder)"),
    **dict.fromkeys(("BPE", "ByteLevelBPETokenizer", "ByteLevel", "BpeTrainer"), "plait.text.byte_level_bpe().train(texts)"),
    **dict.fromkeys(("WordPiece", "BertWordPieceTokenizer", "WordPieceTrainer"), "plait.text.bert_word_piece().train(texts)"),
    **dict.fromkeys(("Unigram", "UnigramTrainer", "SentencePieceUnigramTokenizer", "SentencePieceProcessor"), "plait.text.sentencepiece_unigram().train(texts)"),
    "SentencePieceBPETokenizer": "plait.text.sentencepiece_bpe().train(texts)",
    **dict.fromkeys(("load", "from_file"), "plait.text.Tokenizer.from_file(path)"), "from_pretrained": "plait.text.Tokenizer.from_pretrained(folder)",
    **dict.fromkeys(("models", "normalizers", "pre_tokenizers", "processors", "decoders"), "plait.text.Tokenizer.from_str(json), of a tokenizer.json"),
    "trainers": "plait.text.byte_level_bpe().train(texts)", "tiktoken": "plait.text.Tokenizer.from_file(path), of a tokenizer.json",
}
LINALG = {
    "matrix_exp": "plait.linalg.expm(a)", "cholesky_ex": "plait.linalg.cholesky(a)", "inv_ex": "plait.linalg.inv(a)",
    "solve_ex": "plait.linalg.solve(a, b)", "lu_factor_ex": "plait.linalg.lu_factor(a)", "householder_product": "plait.linalg.qr(a)",
    "ldl_factor": "plait.linalg.lu(a)", "ldl_factor_ex": "plait.linalg.lu(a)", "ldl_solve": "plait.linalg.solve(a, b)",
    "polar": "plait.linalg.svd(a)", "matrix_sqrth": "plait.linalg.eigh(a)", "test": "plait.linalg.norm(x)",
}
RANDOM = {
    "PRNGKey": "plait.random.key(0)", "default_rng": "plait.random.key(0)", "RandomState": "plait.random.key(0)",
    "Generator": "plait.random.key(0)", "split": "plait.random.split_key(key)", "rand": "plait.random.uniform((2, 3))",
    "randn": "plait.random.normal((2, 3))", "standard_normal": "plait.random.normal((2, 3))", "random": "plait.random.uniform((2, 3))",
    "random_sample": "plait.random.uniform((2, 3))", "ranf": "plait.random.uniform((2, 3))", "sample": "plait.random.uniform((2, 3))",
    "random_integers": "plait.random.randint((2, 3), low, high)", "standard_exponential": "plait.random.exponential((2, 3))",
    "standard_gamma": "plait.random.gamma(a)", "standard_cauchy": "plait.random.cauchy((2, 3))", "standard_t": "plait.random.student_t(degrees)",
    "t": "plait.random.student_t(degrees)", "weibull_min": "plait.random.weibull(scale, concentration)",
    "power": "plait.random.uniform((2, 3)) ** (1 / a)", "bytes": "plait.random.bits((2, 3))", "get_state": "plait.random.draw_key()",
    "set_state": "plait.random.seed(0)", "key_data": "plait.random.bits(key, shape)", "wrap_key_data": "plait.random.key(0)",
    "key_impl": "plait.random.key(0)", "key_dtype": "plait.random.key(0)", "clone": "plait.random.fold_in(key, 1)",
    "manual_seed": "plait.random.seed(0)",
}
TREE = {
    "tree_map": "plait.tree.map(f, tree)", "tree_flatten": "plait.tree.flatten(tree)", "tree_leaves": "plait.tree.leaves(tree)",
    "tree_structure": "plait.tree.structure(tree)", "tree_unflatten": "plait.tree.unflatten(structure, leaves)",
    "flatten_with_path": "plait.tree.leaves_with_paths(tree)", "tree_flatten_with_path": "plait.tree.leaves_with_paths(tree)",
    "leaves_with_path": "plait.tree.leaves_with_paths(tree)", "tree_leaves_with_path": "plait.tree.leaves_with_paths(tree)",
    "tree_map_with_path": "plait.tree.leaves_with_paths(tree)", "map_with_path": "plait.tree.leaves_with_paths(tree)",
    "reduce": "functools.reduce(f, plait.tree.leaves(tree))", "all": "all(plait.tree.leaves(tree))",
    "transpose": "plait.tree.map(lambda *leaves: list(leaves), *trees)", "stack": "plait.tree.map(lambda *leaves: plait.stack(leaves), *trees)",
    "register_pytree_node": "plait.tree.register(cls, flatten, unflatten)", "register_dataclass": "a dataclass is a tree already",
    "register_pytree_node_class": "plait.tree.register(cls)", "register_static": "everything but tensors is static already",
    "Partial": "functools.partial(f, x) is a tree already",
}
