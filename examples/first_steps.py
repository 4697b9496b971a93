import plait as pl

points = pl.random.uniform(pl.random.key(0), (512, 2), -1.0, 1.0)
labels = ((points**2).sum(dim=1) < 0.5).to(pl.i64)  # inside of a circle, or not
model = pl.nn.Sequential(pl.nn.Linear(2, 32), pl.relu, pl.nn.Linear(32, 2))
optimizer = pl.optim.Adam(model, lr=0.01)

@pl.jit
def step(model, optimizer, x, y):
    loss, gradients = pl.value_and_grad(lambda model: pl.nn.cross_entropy(model(x), y))(model)
    return loss, *optimizer.update(model, gradients)

for _ in range(300):
    loss, model, optimizer = step(model, optimizer, points, labels)
print(f"loss {loss:.3f}")
