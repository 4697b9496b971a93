"""Libraries that support any Array API namespace accept Plait's tensors: scikit-learn and SciPy."""

import os
import unittest
import warnings

os.environ["SCIPY_ARRAY_API"] = "1"  # SciPy reads it when it is imported

import numpy as np  # noqa: E402
import plait  # noqa: E402
import scipy.cluster.vq  # noqa: E402
import scipy.constants  # noqa: E402
import scipy.differentiate  # noqa: E402
import scipy.fft  # noqa: E402
import scipy.integrate  # noqa: E402
import scipy.ndimage  # noqa: E402
import scipy.optimize.elementwise  # noqa: E402
import scipy.signal  # noqa: E402
import scipy.spatial.transform  # noqa: E402
import scipy.special  # noqa: E402
import scipy.stats  # noqa: E402
from scipy._lib.array_api_compat import array_namespace, is_array_api_obj  # noqa: E402
from scipy._lib.array_api_compat import device as device_of  # noqa: E402
from sklearn.decomposition import PCA  # noqa: E402
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis  # noqa: E402
from sklearn.kernel_approximation import Nystroem  # noqa: E402
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge, RidgeClassifier, RidgeCV  # noqa: E402
from sklearn.preprocessing import (  # noqa: E402
    Binarizer, KernelCenterer, MaxAbsScaler, MinMaxScaler, Normalizer, PolynomialFeatures, StandardScaler)
from sklearn.utils.estimator_checks import check_array_api_input_and_values  # noqa: E402

warnings.simplefilter("ignore")

ESTIMATORS = (
    PCA(n_components=2, svd_solver="full"), PCA(n_components=2, svd_solver="full", whiten=True),
    PCA(n_components=2, svd_solver="covariance_eigh"),
    PCA(n_components=2, svd_solver="randomized", power_iteration_normalizer="QR", random_state=0),
    Ridge(solver="svd"), RidgeClassifier(solver="svd"), RidgeCV(), LinearDiscriminantAnalysis(), LogisticRegression(),
    PoissonRegressor(), Nystroem(random_state=0), MinMaxScaler(), MaxAbsScaler(), StandardScaler(), Normalizer("l1"),
    Normalizer("l2"), Normalizer("max"), Binarizer(), KernelCenterer(), PolynomialFeatures())

NUMBERS = np.random.default_rng(0)
X, V, W = (NUMBERS.random(shape) + 0.1 for shape in ((20, 3), 30, 30))
COUNTS = np.array([16.0, 18, 16, 14, 12, 12])

# Functions of SciPy, of arrays that f creates.
FUNCTIONS = {
    "special.logsumexp": lambda f: scipy.special.logsumexp(f(X), axis=1),
    "special.softmax": lambda f: scipy.special.softmax(f(X), axis=1),
    "special.log_softmax": lambda f: scipy.special.log_softmax(f(X), axis=1),
    "special.erf": lambda f: scipy.special.erf(f(X)),
    "special.gammaln": lambda f: scipy.special.gammaln(f(X)),
    "special.xlogy": lambda f: scipy.special.xlogy(f(X), f(X)),
    "special.betainc": lambda f: scipy.special.betainc(f(V), f(W), f(V) / 2),
    "stats.zscore": lambda f: scipy.stats.zscore(f(X)),
    "stats.skew": lambda f: scipy.stats.skew(f(X)),
    "stats.kurtosis": lambda f: scipy.stats.kurtosis(f(X)),
    "stats.gmean": lambda f: scipy.stats.gmean(f(X)),
    "stats.ttest_ind": lambda f: scipy.stats.ttest_ind(f(V), f(W)).pvalue,
    "stats.pearsonr": lambda f: scipy.stats.pearsonr(f(V), f(W)).statistic,
    "stats.chisquare": lambda f: scipy.stats.chisquare(f(COUNTS)).pvalue,
    "stats.differential_entropy": lambda f: scipy.stats.differential_entropy(f(V)),
    "stats.quantile": lambda f: scipy.stats.quantile(f(V), f(np.array([0.25, 0.5]))),
    "signal.convolve": lambda f: scipy.signal.convolve(f(V), f(W)),
    "signal.fftconvolve": lambda f: scipy.signal.fftconvolve(f(V), f(W)),
    "signal.detrend": lambda f: scipy.signal.detrend(f(V)),
    "signal.hilbert": lambda f: scipy.signal.hilbert(f(V)),
    "signal.lfilter": lambda f: scipy.signal.lfilter(f(np.array([0.5, 0.5])), f(np.array([1.0])), f(V)),
    "cluster.vq.whiten": lambda f: scipy.cluster.vq.whiten(f(X)),
    "cluster.vq.vq": lambda f: scipy.cluster.vq.vq(f(X), f(X[:3]))[0],
    "fft.dct": lambda f: scipy.fft.dct(f(V)),
    "fft.rfftn": lambda f: scipy.fft.rfftn(f(X)),
    "integrate.trapezoid": lambda f: scipy.integrate.trapezoid(f(X), axis=0),
    "integrate.cumulative_simpson": lambda f: scipy.integrate.cumulative_simpson(f(V)),
    "integrate.tanhsinh": lambda f: scipy.integrate.tanhsinh(lambda x: x * x, f(np.zeros(2)), f(np.array([1.0, 2]))).integral,
    "integrate.cubature": lambda f: scipy.integrate.cubature(lambda x: x[:, 0] * x[:, 1], f(np.zeros(2)), f(np.ones(2))).estimate,
    "optimize.elementwise.find_root": lambda f: scipy.optimize.elementwise.find_root(
        lambda x, c: x * x - c, (f(np.zeros(3)), f(np.full(3, 4.0))), args=(f(np.array([1.0, 2, 3])),)).x,
    "optimize.elementwise.find_minimum": lambda f: scipy.optimize.elementwise.find_minimum(
        lambda x: (x - 1) ** 2, tuple(f(np.array([x])) for x in (-2.0, 0.5, 3.0))).x,
    "optimize.rosen_der": lambda f: scipy.optimize.rosen_der(f(V)),
    "differentiate.derivative": lambda f: scipy.differentiate.derivative(lambda x: x**3, f(V)).df,
    "ndimage.gaussian_filter": lambda f: scipy.ndimage.gaussian_filter(f(X), 1.0),
    "spatial.transform.Rotation": lambda f: scipy.spatial.transform.Rotation.from_rotvec(f(X[0])).as_matrix(),
    "constants.convert_temperature": lambda f: scipy.constants.convert_temperature(f(V), "Celsius", "Kelvin"),
}


class Compat(unittest.TestCase):
    def test_namespace_is_recognised(self):
        x = plait.zeros(3)
        self.assertIs(array_namespace(x, 1.5), plait)
        self.assertTrue(is_array_api_obj(x))
        self.assertEqual(device_of(x), x.device)
        self.assertRaises(TypeError, array_namespace, x, np.zeros(3))


class ScikitLearn(unittest.TestCase):
    def test_estimators(self):
        for estimator in ESTIMATORS:
            for dtype in ("float32", "float64"):
                with self.subTest(str(estimator), dtype=dtype):
                    try:
                        check_array_api_input_and_values(type(estimator).__name__, estimator, "plait", dtype_name=dtype)
                    except unittest.SkipTest as skipped:
                        self.fail(f"skipped: {skipped}")


class SciPy(unittest.TestCase):
    def test_functions(self):
        for name, function in FUNCTIONS.items():
            with self.subTest(name):
                mine, theirs = function(plait.asarray), function(np.asarray)
                self.assertIsInstance(mine, plait.Tensor)
                self.assertEqual(mine.numpy().dtype, theirs.dtype)
                np.testing.assert_allclose(mine.numpy(), theirs, rtol=1e-6, atol=1e-9)


if __name__ == "__main__":
    unittest.main()
