"""Values the clients of the task in Flower's own simulation, and prints them.

python -m tests.flower.simulated
"""

import json

from flwr.app import ConfigRecord, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import ServerApp
from flwr.simulation import run_simulation

import shapband as sb
import shapband.flower as sf
from tests.flower import plain

NAMES = plain.NAMES[:2]
client_app = ClientApp()
client_app.train()(plain.train)
server_app = ServerApp()


@client_app.query()
def partition(message, context):
    found = ConfigRecord({"partition": context.node_config["partition-id"]})
    return Message(RecordDict({"found": found}), reply_to=message)


def values(app, clients, **options):
    return sf.value(
        app, clients, plain.strategy, plain.initial(), plain.score, num_rounds=2,
        progress=False, seed=0, **options,
    ).games.tolist()  # fmt: skip


@server_app.main()
def main(grid, context):
    while len(nodes := list(grid.get_node_ids())) < len(NAMES):
        pass
    asked = [Message(RecordDict(), node, "query") for node in nodes]
    clients = {
        NAMES[reply.content["found"]["partition"]]: reply.metadata.src_node_id
        for reply in grid.send_and_receive(asked)
    }
    ordered = {name: clients[name] for name in NAMES}
    draws = {name: plain.SIZES[name] for name in NAMES}
    print("whole", json.dumps(values(grid, ordered, deterministic=True, n_games=1)))
    drawn = values(grid, ordered, records=draws, sampling=sb.Fresh(7), n_games=2)
    print("drawn", json.dumps(drawn))


if __name__ == "__main__":
    run_simulation(
        server_app=server_app, client_app=client_app, num_supernodes=len(NAMES),
        backend_config={"client_resources": {"num_cpus": 1, "num_gpus": 0.0},
                        "init_args": {"num_cpus": 1, "include_dashboard": False}},
    )  # fmt: skip
