"""Losses."""

import torch
from torch import nn

from . import Case, numbers

WEIGHTS = torch.tensor([0.5, 2.0, 1.5, 1.0, 0.25], dtype=torch.float64)
CLASSES = torch.tensor([0, 4, 2, 1, 3, 2])
IMAGES = torch.tensor([[[0, 4, 1], [3, 2, 2]]])
SIGNS = torch.tensor([1.0, -1.0, -1.0, 1.0, -1.0, 1.0], dtype=torch.float64)
LISTED = torch.tensor([[3, 0, -1, 1, 2], [1, -1, 0, 0, 0], [-1, 2, 0, 1, 3], [4, 2, 0, 1, 3]])


def shares(*shape, seed=1):
    """Numbers between 0 and 1."""
    return torch.sigmoid(numbers(*shape, seed=seed))


def logs(*shape, seed=1):
    return torch.log_softmax(numbers(*shape, seed=seed), 1)


def by_classes():
    return [numbers(6, 5), CLASSES]


def by_log_classes():
    return [logs(6, 5), CLASSES]


def by_shares():
    return [shares(6, 5), shares(6, 5, seed=2)]


def by_labels():
    return [numbers(6, 5), (numbers(6, 5, seed=2) > 0).double()]


def by_numbers():
    return [numbers(6, 5), numbers(6, 5, seed=2)]


def by_signs():
    return [numbers(6), SIGNS]


def vectors():
    return [numbers(6, 5), numbers(6, 5, seed=2), SIGNS]


def pairs():
    return [numbers(6), numbers(6, seed=2), SIGNS]


def triplets():
    return [numbers(6, 5, seed=seed) for seed in (1, 2, 3)]


def sequences():
    return [numbers(7, 3, 4), torch.tensor([[1, 2, 0], [2, 2, 1], [1, 0, 0]]), torch.tensor([7, 6, 2]), torch.tensor([2, 3, 1])]


def sequences_without_path():
    """The last target is longer than its input."""
    return [numbers(7, 3, 4), torch.tensor([[1, 2, 0], [2, 2, 1], [1, 0, 1]]), torch.tensor([7, 6, 2]), torch.tensor([2, 3, 3])]


def of_logits(loss, logits, *rest):
    return loss(torch.log_softmax(logits, -1), *rest)


def city_distance(a, b):
    return (a - b).abs().sum(-1)


class LinearCrossEntropy(nn.Module):
    """Our layer, by PyTorch's parts."""

    def __init__(self, bias, weight, **options):
        super().__init__()
        self.register_buffer("weight", weight)
        self.linear, self.options = nn.Linear(3, 5, bias=bias), options

    def forward(self, x, target):
        return nn.functional.cross_entropy(self.linear(x), target, weight=self.weight, **self.options)


ROWS = torch.tensor([0, 4, 2, 1, 3, 2, 2, 0, 1, 4])

CASES = {
    "cross_entropy_loss": Case(nn.CrossEntropyLoss, by_classes),
    "cross_entropy_loss_options": Case(lambda: nn.CrossEntropyLoss(WEIGHTS, ignore_index=2, label_smoothing=0.1), by_classes),
    "cross_entropy_loss_none": Case(lambda: nn.CrossEntropyLoss(reduction="none"), by_classes),
    "cross_entropy_loss_of_images": Case(lambda: nn.CrossEntropyLoss(WEIGHTS, reduction="sum"), lambda: [numbers(1, 5, 2, 3), IMAGES]),
    "cross_entropy_loss_probabilities": Case(lambda: nn.CrossEntropyLoss(label_smoothing=0.2),
                                             lambda: [numbers(6, 5), torch.softmax(numbers(6, 5, seed=2), 1)]),
    "nll_loss": Case(nn.NLLLoss, by_log_classes),
    "nll_loss_options": Case(lambda: nn.NLLLoss(WEIGHTS, ignore_index=1), by_log_classes),
    "nll_loss_sum": Case(lambda: nn.NLLLoss(reduction="sum"), lambda: [logs(1, 5, 2, 3), IMAGES]),
    "bce_loss": Case(nn.BCELoss, by_shares),
    "bce_loss_options": Case(lambda: nn.BCELoss(WEIGHTS, reduction="none"), by_shares),
    "bce_with_logits_loss": Case(nn.BCEWithLogitsLoss, lambda: [numbers(6, 5), shares(6, 5, seed=2)]),
    "bce_with_logits_loss_options": Case(lambda: nn.BCEWithLogitsLoss(WEIGHTS, reduction="sum", pos_weight=WEIGHTS + 1), by_labels),
    "multi_margin_loss": Case(nn.MultiMarginLoss, by_classes),
    "multi_margin_loss_options": Case(lambda: nn.MultiMarginLoss(2, 0.5, WEIGHTS, reduction="none"), by_classes),
    "multilabel_margin_loss": Case(nn.MultiLabelMarginLoss, lambda: [numbers(4, 5), LISTED]),
    "multilabel_margin_loss_none": Case(lambda: nn.MultiLabelMarginLoss(reduction="none"), lambda: [numbers(4, 5), LISTED]),
    "multilabel_soft_margin_loss": Case(nn.MultiLabelSoftMarginLoss, by_labels),
    "multilabel_soft_margin_loss_options": Case(lambda: nn.MultiLabelSoftMarginLoss(WEIGHTS, reduction="sum"), by_labels),
    "ctc_loss": Case(nn.CTCLoss, sequences, call=of_logits),
    "ctc_loss_options": Case(lambda: nn.CTCLoss(blank=3, reduction="sum", zero_infinity=True), sequences_without_path, call=of_logits),
    "l1_loss": Case(nn.L1Loss, by_numbers),
    "l1_loss_none": Case(lambda: nn.L1Loss(reduction="none"), by_numbers),
    "mse_loss": Case(nn.MSELoss, by_numbers),
    "mse_loss_sum": Case(lambda: nn.MSELoss(reduction="sum"), by_numbers),
    "smooth_l1_loss": Case(nn.SmoothL1Loss, by_numbers),
    "smooth_l1_loss_options": Case(lambda: nn.SmoothL1Loss(reduction="none", beta=0.3), by_numbers),
    "huber_loss": Case(nn.HuberLoss, by_numbers),
    "huber_loss_options": Case(lambda: nn.HuberLoss(reduction="sum", delta=0.7), by_numbers),
    "poisson_nll_loss": Case(nn.PoissonNLLLoss, lambda: [numbers(6, 5), torch.round(5 * shares(6, 5, seed=2))]),
    "poisson_nll_loss_options": Case(lambda: nn.PoissonNLLLoss(log_input=False, full=True, eps=1e-3, reduction="none"),
                                     lambda: [3 * shares(6, 5), torch.round(5 * shares(6, 5, seed=2))]),
    "gaussian_nll_loss": Case(nn.GaussianNLLLoss, lambda: [*by_numbers(), shares(6, 5, seed=3)]),
    "gaussian_nll_loss_options": Case(lambda: nn.GaussianNLLLoss(full=True, eps=0.5, reduction="none"), lambda: [*by_numbers(), shares(6, seed=3)]),
    "kl_div_loss": Case(lambda: nn.KLDivLoss(reduction="batchmean"), lambda: [logs(6, 5), torch.softmax(numbers(6, 5, seed=2), 1)]),
    "kl_div_loss_options": Case(lambda: nn.KLDivLoss(log_target=True), lambda: [logs(6, 5), logs(6, 5, seed=2)]),
    "soft_margin_loss": Case(nn.SoftMarginLoss, by_signs),
    "hinge_embedding_loss": Case(nn.HingeEmbeddingLoss, by_signs),
    "hinge_embedding_loss_options": Case(lambda: nn.HingeEmbeddingLoss(0.3, reduction="none"), by_signs),
    "cosine_embedding_loss": Case(nn.CosineEmbeddingLoss, vectors),
    "cosine_embedding_loss_options": Case(lambda: nn.CosineEmbeddingLoss(-0.4, reduction="none"), vectors),
    "margin_ranking_loss": Case(nn.MarginRankingLoss, pairs),
    "margin_ranking_loss_options": Case(lambda: nn.MarginRankingLoss(0.6, reduction="sum"), pairs),
    "triplet_margin_loss": Case(nn.TripletMarginLoss, triplets),
    "triplet_margin_loss_options": Case(lambda: nn.TripletMarginLoss(0.5, 1.0, 1e-3, swap=True, reduction="none"), triplets),
    "triplet_margin_with_distance_loss": Case(nn.TripletMarginWithDistanceLoss, triplets),
    "triplet_margin_with_distance_loss_options": Case(
        lambda: nn.TripletMarginWithDistanceLoss(distance_function=city_distance, margin=2.0, swap=True, reduction="none"), triplets),
    "linear_cross_entropy_loss": Case(lambda: LinearCrossEntropy(False, None), lambda: [numbers(10, 3), ROWS]),
    "linear_cross_entropy_loss_options": Case(lambda: LinearCrossEntropy(True, WEIGHTS, ignore_index=2, label_smoothing=0.1, reduction="none"),
                                              lambda: [numbers(10, 3), ROWS]),
}
